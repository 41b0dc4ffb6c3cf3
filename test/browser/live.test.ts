import { expect, test } from 'vitest'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

test('an event appears while the list is open, and its state follows', async () => {
  const { dashboard, deliver } = await smallLedger({ receipts: 0, works: true })
  const { page } = await openPage('/events', { dashboard })
  await page.getByRole('button', { name: 'Live' }).waitFor()
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor({ state: 'attached' })

  await deliver({ id: 'evt_live_1', type: 'customer.subscription.updated' })
  const row = page.getByRole('row').filter({ hasText: 'evt_live_1' })
  await row.getByText('processed').waitFor()
})

test('a paused list stays as it is until it is resumed', async () => {
  const { dashboard, deliver, token } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/events', { dashboard })
  const rows = page.getByRole('grid', { name: 'Events' }).getByRole('rowgroup').getByRole('row')
  await rows.nth(5).waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: 'Paused' }).waitFor()

  await deliver({ id: 'evt_while_paused', type: 'customer.subscription.updated' })
  // The API has the event. A list that follows would request it within a second.
  const listed = await fetch(`${dashboard}/api/v1/events?limit=1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await listed.text()).toContain('evt_while_paused')
  expect(await rows.filter({ hasText: 'evt_while_paused' }).count()).toBe(0)

  await page.getByRole('button', { name: 'Paused' }).click()
  await rows.filter({ hasText: 'evt_while_paused' }).waitFor()
})

test('behind a proxy that holds the stream back, the list is read every few seconds', async () => {
  const { dashboard, deliver } = await smallLedger({ receipts: 30 })
  const { page, go } = await openPage('/', { dashboard })
  // Neither an answer nor an error.
  await page.route('**/api/v1/stream', () => undefined)
  await go('/events')
  await page.getByRole('button', { name: 'Every 5 s' }).waitFor()
  await deliver({ id: 'evt_held_back', type: 'customer.subscription.updated' })
  await page.getByRole('row').filter({ hasText: 'evt_held_back' }).waitFor()
})

test('without a stream the list is read every few seconds', async () => {
  const { dashboard, deliver } = await smallLedger({ receipts: 30 })
  const { page, faults, go } = await openPage('/', { dashboard })
  faults.expect(/net::ERR_FAILED|^console: .*stream/)
  await page.route('**/api/v1/stream', (route) => route.abort())
  await go('/events')
  await page.getByRole('button', { name: 'Every 5 s' }).waitFor()
  await deliver({ id: 'evt_polled', type: 'customer.subscription.updated' })
  await page.getByRole('row').filter({ hasText: 'evt_polled' }).waitFor()
})
