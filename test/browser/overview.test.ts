import { expect, test } from 'vitest'
import { testEveryView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { isLoaded, openPage } from './support/open-page.ts'

testEveryView('/', async (page) => {
  await page.getByText('payout:po_1').first().waitFor()
  await page.getByText('3 workers').waitFor()
})

test('the numbers equal those of the ledger, for each period', async () => {
  const { page } = await openPage('/')
  const period = page.getByRole('group', { name: 'Period' })
  for (const [name, size, hours] of [
    ['1 h', 1, 1],
    ['7 d', 60, 168],
  ] as const) {
    await period.getByRole('button', { name }).click()
    await page.getByRole('button', { name, pressed: true }).waitFor()
    const stat = (label: string) =>
      page.locator('dl div').filter({ hasText: label }).locator('dd b').textContent()
    const differences = async (): Promise<unknown[]> => {
      await isLoaded(page)
      const [sum] = await inLargeLedger<{ received: number; effects: number }>(
        `select sum(received)::integer as received, sum(spared)::integer as effects from hookonce.rollup
         where size = ${size} and at > date_bin(interval '${size} minutes', now(), '2000-01-01Z') - interval '${hours} hours'`,
      )
      const found = [
        [await stat('Received'), sum?.received.toLocaleString('en')],
        [await stat('Effects not repeated'), sum?.effects.toLocaleString('en')],
      ].filter(([shown, counted]) => shown !== counted)
      // A minute may have ended since the page was loaded.
      if (found.length > 0) await page.reload()
      return found
    }
    await expect.poll(differences).toEqual([])
  }
  expect(new URL(page.url()).searchParams.get('period')).toBe('7d')
})

test('each need for a person links to the page of its decision', async () => {
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
