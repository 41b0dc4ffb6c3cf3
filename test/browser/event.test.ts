import { expect, test } from 'vitest'
import { testEveryView } from './support/every-view.ts'
import { inLargeLedger } from './support/large-ledger.ts'
import { openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

async function eventWithEffects(): Promise<string> {
  const [found] = await inLargeLedger<{ id: string }>(
    `select receipt_id as id from hookonce.effect e where mode = 'keyed'
     and exists (select from hookonce.audit a where a.subject = e.receipt_id::text) order by id limit 1`,
  )
  return `/events/${found?.id}`
}

testEveryView({ name: 'event', path: eventWithEffects }, (page) =>
  page.getByText('receipt-mail:in_1').first().waitFor(),
)

test('a replay shows its plan, and carries it out', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 2_000, works: true })
  const [failed] = await db.rows<{ id: string; fence: number }>(
    `select j.receipt_id as id, j.fence from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
     where s.name = 'fulfilment' and j.state = 'failed' order by j.finished_at desc limit 1`,
  )
  await db.rows(`update hookonce.attempt set stack = 'at ship (/app/ship.js:1:2)' where receipt_id = $1`, [
    failed?.id,
  ])
  const { page } = await openPage(`/events/${failed?.id}`, { dashboard })
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('tab', { name: 'Attempts' }).click()
  const frame = page.getByText('at ship (/app/ship.js:1:2)').first()
  expect(await frame.isVisible()).toBe(false)
  await page.getByText('Where it was thrown').first().click()
  await frame.waitFor()

  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Will run again').waitFor()
  const subscribers = dialog.getByLabel('Subscriber')
  if ((await subscribers.count()) > 0) await subscribers.selectOption('fulfilment')
  const replay = dialog.getByRole('button', { name: 'Replay' })
  expect(await replay.isDisabled()).toBe(true)
  await dialog.getByLabel('Why?').fill('the order is not on its way after all')
  await replay.click()
  await dialog.waitFor({ state: 'detached' })

  await expect
    .poll(() =>
      db.rows(
        `select j.state::text, j.fence > $2 as ran from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
         where j.receipt_id = $1 and s.name = 'fulfilment'`,
        [failed?.id, failed?.fence],
      ),
    )
    .toEqual([{ state: 'processed', ran: true }])
  const [entry] = await db.rows(
    'select actor, why, address from hookonce.audit where subject = $1 and action = $2',
    [failed?.id, 'replay'],
  )
  expect(entry).toMatchObject({ why: 'the order is not on its way after all', address: '127.0.0.1' })
  // The page updates itself.
  await page.getByText('processed in 1 attempt').waitFor()
})

test('the page shows the chain as stored in the ledger', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 2_000 })
  const [found] = await db.rows<{ id: string; key: string; mail: string }>(
    `select r.id, r.event_key as key, e.key as mail from hookonce.effect e
     join hookonce.receipt r on r.id = e.receipt_id where e.mode = 'keyed' limit 1`,
  )
  const { page } = await openPage(`/events/${found?.id}`, { dashboard })
  await page
    .getByText(found?.key ?? 'no key')
    .first()
    .waitFor()
  const timeline = page.getByRole('region', { name: 'Timeline' })
  for (const part of ['billing', found?.mail ?? 'no mail', 'load-customer', 'invoice.paid'])
    await timeline.getByText(part).first().waitFor()

  await page.getByRole('tab', { name: 'Effects' }).click()
  await page.getByText('keyed: one effect').waitFor()
  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByText('Stripe/1.0').waitFor()
  await page.getByRole('tab', { name: 'Signature' }).click()
  await page
    .getByText(/matches secret [12]/)
    .first()
    .waitFor()
})

test('the body is read only on request, and each view is in the audit', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 60 })
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>('select id from hookonce.receipt limit 1')
  const looks = `select count(*) from hookonce.audit where action = 'read-body' and subject = '${id}'`
  const { page } = await openPage(`/events/${id}`, { dashboard })
  await page.getByRole('button', { name: 'Show the body' }).waitFor()
  expect(await db.number(looks)).toBe(0)
  await page.getByRole('button', { name: 'Show the body' }).click()
  await page.getByRole('button', { name: 'Raw' }).click()
  await page.getByRole('button', { name: 'Tree' }).waitFor()
  expect(await db.number(looks)).toBe(1)
})

test('an event is copied as a curl line that the gateway accepts', async () => {
  const { dashboard, deliver } = await smallLedger({ receipts: 0 })
  const id = await deliver({ id: 'evt_curl', type: 'customer.subscription.updated', name: "O'Neill" })
  const { page } = await openPage(`/events/${id}`, { dashboard })
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByText('Copied.').waitFor()
  const line = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(line).toMatch(/^curl /)
  expect(line).toContain('/in/stripe')
  expect(line).toContain('stripe-signature')
  expect(line).toContain(`O'\\''Neill`)
})

test('an event is copied as a test; without a body, the page explains why it cannot be', async () => {
  const { dashboard, db, deliverText } = await smallLedger({ receipts: 0 })
  const id = await deliverText(
    '{"id":"evt_t","type":"customer.subscription.updated","account":9007199254740993}',
  )
  const { page } = await openPage(`/events/${id}`, { dashboard })
  const button = page.getByRole('button', { name: 'Copy as a test' })
  await button.click()
  await page.getByText('Paste it into a test file').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toContain("import { testHooks } from 'hookonce/testing'")
  expect(copied).toContain('"account":9007199254740993')
  expect(await db.rows('select action, why from hookonce.audit where subject = $1', [id])).toEqual([
    { action: 'read-body', why: 'read the body and headers as a test' },
  ])

  await db.rows('update hookonce.receipt set body = null, body_sha256 = sha256(body)')
  await page.reload()
  await page.getByText('the event can be neither replayed nor copied').waitFor()
  expect(await button.count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0)
})

test('an unknown event is an error on the page', async () => {
  const { page, faults } = await openPage('/events/00000000-0000-4000-8000-000000000000')
  faults.expect(/^404: /)
  await page
    .getByRole('alert')
    .getByText(/no receipt/i)
    .waitFor()
})

test('an address that cannot be decoded is no page', async () => {
  const { page } = await openPage('/events/%zz')
  await page.getByText('There is no such page').waitFor()
  await page.getByRole('link', { name: 'Events' }).click()
  await page.getByRole('grid', { name: 'Events' }).waitFor()
})
