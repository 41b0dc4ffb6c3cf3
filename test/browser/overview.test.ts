import { expect, test } from 'vitest'
import { testEveryView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { openPage } from './support/open-page.ts'

testEveryView('/', async (page) => {
  await page.getByText('payout:po_1').first().waitFor()
  await page.getByText('3 workers').waitFor()
})

test('the numbers are those of the ledger, for each period', async () => {
  const { page } = await openPage('/')
  const period = page.getByRole('group', { name: 'Period' })
  for (const [name, size, hours] of [
    ['1 h', 1, 1],
    ['7 d', 60, 168],
  ] as const) {
    await period.getByRole('button', { name }).click()
    const [sum] = await inLargeLedger<{ received: number; effects: number }>(
      `select sum(received)::integer as received, sum(spared)::integer as effects from hookonce.rollup
       where size = ${size} and at > date_bin(interval '${size} minutes', now(), '2000-01-01Z') - interval '${hours} hours'`,
    )
    const stat = (label: string) => page.locator('dl div').filter({ hasText: label }).locator('dd b')
    await expect.poll(() => stat('Received').textContent()).toBe(sum?.received.toLocaleString('en'))
    expect(await stat('Effects not repeated').textContent()).toBe(sum?.effects.toLocaleString('en'))
  }
  expect(new URL(page.url()).searchParams.get('period')).toBe('7d')
})

test('what needs a person leads to where it is decided', async () => {
  const { page } = await openPage('/')
  const needs = page.locator('.need')
  for (const [text, path] of [
    ['payout:po_1', '/attention'],
    ['failed:', '/failures'],
    ['shopify refused 31 deliveries', '/rejections'],
  ] as const) {
    await needs.filter({ hasText: text }).first().getByRole('link').click()
    await expect.poll(() => new URL(page.url()).pathname).toBe(path)
    await page.goBack()
  }
})
