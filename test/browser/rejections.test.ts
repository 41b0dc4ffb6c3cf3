import { expect, test } from 'vitest'
import { seededLedger } from '../support/seeded-ledger.ts'
import { testEveryView } from './support/every-view.ts'
import { smallDashboard } from './support/small-dashboard.ts'

/* The page of refused deliveries: the diagnosis, the change to make, and a command to try it. */

testEveryView('/rejections', (page) => page.getByText('What to change').waitFor())

test('a refusal shows its diagnosis, its header, the advice and the command to copy', async () => {
  const { db, row } = await seededLedger()
  await row('rejection', {
    source: 'shop',
    code: 'SIGNATURE_MISSING',
    count: 31,
    last_detail: 'the header x-shop-signature is missing',
    diagnosis: 'a proxy dropped the header',
    header: 'x-shop-signature',
  })
  await row('rejection', {
    source: '(unknown)',
    code: 'SOURCE_UNKNOWN',
    count: 1,
    last_at: new Date(Date.now() - 3_600_000),
    last_detail: 'no source is named "<b>x</b>"',
  })
  const { page } = await (await smallDashboard(db)).open('/rejections')
  await page.getByText('A proxy dropped the header.').waitFor()
  await page.getByText('x-shop-signature', { exact: true }).waitFor()
  await page.getByText('Check that the sender signs its requests').waitFor()
  await page.getByText('31 times').waitFor()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await expect
    .poll(() => page.evaluate<string>('navigator.clipboard.readText()'))
    .toBe('npx hookonce verify --config hookonce.json --source shop --headers headers.txt --body body.json')

  // A source that is not configured cannot be verified, and its name is harmless text.
  await page.getByRole('button', { name: /no source is named/ }).click()
  await page.getByText('No source is named "<b>x</b>".').waitFor()
  expect(await page.getByRole('button', { name: 'Copy', exact: true }).count()).toBe(0)
})

test('a new refusal appears without a reload', async () => {
  const { db, row } = await seededLedger()
  const { page } = await (await smallDashboard(db)).open('/rejections')
  await page.getByText('No delivery was refused').waitFor()
  const refused = { count: 1, last_detail: 'no secret matches', diagnosis: 'the secret is of the test mode' }
  await row('rejection', { source: 'test', code: 'SIGNATURE_MISMATCH', ...refused })
  await page.getByText('The secret is of the test mode.').waitFor()
})
