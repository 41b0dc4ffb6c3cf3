import { expect, test } from 'vitest'
import { isLoaded, openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

/** The actions that change something. */
const ACTS =
  /replay|decide|fix|confirm|call again|abandon|give up|pause|resume|test|revoke|make a token|acknowledge|move|discard|cancel|publish again|run now|try now|probe/i

test('a viewer sees no button, and no link that looks like one, without the right to use it', async () => {
  const { dashboard, db, tokenFor, token } = await smallLedger({ receipts: 400 })
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>(
    'select receipt_id as id from hookonce.effect limit 1',
  )
  // A circuit is open, and no worker serves one of the subscribers.
  await db.rows(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', 'stripe', 'renamed', '*')`,
  )
  await db.rows(
    `insert into hookonce.job (shard, receipt_id, subscriber, state)
     select shard, id, (select max(id) from hookonce.subscriber), 'received' from hookonce.receipt
     where source = 'stripe' limit 2`,
  )
  const paths = [
    '/',
    '/events',
    `/events/${id}`,
    '/failures',
    '/attention',
    '/outbox',
    '/sources',
    '/destinations',
    '/rejections',
    '/captured',
    '/settings',
    '/settings?tab=alerts',
  ]
  const buttonsOf = async (given: string): Promise<string[]> => {
    const { page, go } = await openPage('/', { dashboard, token: given })
    const found: string[] = []
    for (const path of paths) {
      await go(path)
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
      await isLoaded(page)
      const names = await page.locator('main').locator('button:not(.cover), a.button').allTextContents()
      found.push(...names.filter((name) => ACTS.test(name)).map((name) => `${path}: ${name}`))
    }
    return found
  }
  expect(await buttonsOf(await tokenFor('viewer'))).toEqual([])
  // Other roles see such buttons on the same pages. Otherwise this test would prove nothing.
  const others = (await buttonsOf(token)).join('\n')
  for (const name of ['/: Probe', '/destinations: Probe', '/destinations: Move', '/destinations: Discard'])
    expect(others).toContain(name)
})

test('a viewer reads no body and no headers', async () => {
  const { dashboard, db, tokenFor } = await smallLedger({ receipts: 60 })
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>('select id from hookonce.receipt limit 1')
  const { page } = await openPage(`/events/${id}`, { dashboard, token: await tokenFor('viewer') })
  await page.getByText('Your token may not read bodies').waitFor()
  expect(await page.getByRole('button', { name: /^Copy as/ }).count()).toBe(0)
  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByText('Your token may not read headers').waitFor()
  await page.keyboard.press('r')
  expect(await page.getByRole('dialog').count()).toBe(0)
})
