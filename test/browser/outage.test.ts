import { expect, test } from 'vitest'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

test('a gateway that is down is reported, and the shown data stays', async () => {
  const { dashboard, gateway } = await smallLedger({ receipts: 60 })
  const { page, faults } = await openPage('/events', { dashboard })
  const rows = page.getByRole('grid', { name: 'Events' }).getByRole('rowgroup').getByRole('row')
  await rows.nth(5).waitFor()
  faults.expect(/^50[03]: |net::ERR_|^console: .*(network|fetch)/i)

  await gateway.stop()
  await page.getByText('No answer from the gateway').waitFor()
  expect(await rows.count()).toBeGreaterThan(5)
})

test('a ledger that is down is an error with a button to try again', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 60 })
  const { page, faults } = await openPage('/', { dashboard })
  await page.getByRole('heading', { name: 'Traffic' }).waitFor()
  faults.expect(/^50[03]: /)

  await db.rows('alter schema hookonce rename to gone')
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await page.getByRole('alert').getByText('This could not be read').waitFor()
  await db.rows('alter schema gone rename to hookonce')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('grid', { name: 'Events' }).waitFor()
})
