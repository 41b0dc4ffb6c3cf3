import { expect, test } from 'vitest'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

test('the dashboard works under the path of a proxy', async () => {
  const { dashboard } = await smallLedger({ receipts: 60, args: ['--admin-path', '/ops'] })
  expect(new URL(dashboard).pathname).toBe('/ops')
  const { page, go } = await openPage('/', { dashboard })
  const path = (): string => new URL(page.url()).pathname

  await page.getByRole('link', { name: 'Events' }).click()
  const rows = page.getByRole('grid', { name: 'Events' }).getByRole('row')
  await rows.nth(1).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(path()).toMatch(/^\/ops\/events\/[0-9a-f-]{36}$/)

  // A shared address can be opened directly.
  await go('/events?q=evt_')
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  expect(page.url()).toBe(`${dashboard}/events?q=evt_`)
})
