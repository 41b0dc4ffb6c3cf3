import { expect, test } from 'vitest'
import { type SeededLedger, seededLedger } from '../support/seeded-ledger.ts'
import { testEveryView } from './support/every-view.ts'
import { smallDashboard } from './support/small-dashboard.ts'

/* The page of the outbox: stuck lanes, failed, waiting and published messages. */

testEveryView('/outbox', async (page) => {
  await page.getByRole('tab', { name: /^Stuck/, selected: true }).waitFor()
  await page
    .getByRole('button', { name: /^invoice\.paid/ })
    .first()
    .click()
  await page.getByText('The first message was refused 3 times.').waitFor()
})
testEveryView('/outbox?state=failed', async (page) => {
  await page.getByRole('button', { name: 'invoice.paid' }).first().click()
  await page.getByRole('button', { name: /^Publish again/ }).waitFor()
})

const id = (kind: number, n: number): string => `00000000-0000-4000-${kind}000-00000000000${n}`

async function withMessages(): Promise<SeededLedger> {
  const ledger = await seededLedger()
  const { row, subscriber } = ledger
  const finished_at = new Date()
  const failed = { state: 'failed', attempts: 20, reason: 'gave up after 20 attempts: refused', finished_at }
  const messages = [
    { n: 1, lane: 1, topic: 'orders' },
    { n: 2, lane: 1, topic: 'orders' },
    { n: 3, lane: 3, topic: 'orders', ...failed },
    { n: 4, lane: 4, topic: 'mails', ...failed },
    { n: 5, lane: 5, topic: 'orders', state: 'published', attempts: 1, finished_at },
  ]
  for (const { n, lane, ...columns } of messages)
    await row('outbox', {
      ...{ shard: lane, id: id(8, n), lane: id(9, lane), receipt_id: id(8, n), seq: n, subscriber },
      ...{ tenant: 'default', key: `k${lane}`, payload: '{"n":12345678901234567890,"html":"<b>x</b>"}' },
      ...columns,
    })
  const lane = { shard: 1, id: id(9, 1), tail: 2, topic: 'orders' }
  await row('outbox_lane', {
    ...lane,
    attempt: 4,
    due_at: new Date(Date.now() + 300_000),
    reason: 'refused (503)',
  })
  return ledger
}

function statesOf({ db }: SeededLedger): Promise<unknown[]> {
  return db.rows('select right(id::text, 1) as n, state::text from hookonce.outbox order by id')
}

test('a stuck lane shows its reason, what waits, and the next try', async () => {
  const { db } = await withMessages()
  const { page } = await (await smallDashboard(db)).open('/outbox')
  await page.getByRole('button', { name: 'orders k1' }).click()
  const detail = page.getByRole('cell').filter({ hasText: 'The first message was refused 4 times.' })
  await detail.getByText('1 message waits behind it').waitFor()
  await detail.getByText(/It is tried again in \d min/).waitFor()
  await detail.getByText('refused (503)', { exact: true }).waitFor()
  await detail.getByRole('button', { name: /^Try now/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Why?').fill('the broker is up')
  await page.keyboard.press('Enter')
  await page.getByText('The lane is due now.').waitFor()
  expect(await db.number('select count(*) from hookonce.outbox_lane where due_at > now()')).toBe(0)
  await page.getByLabel('Topic').fill('mails')
  await page.keyboard.press('Enter')
  await page.getByText('No lane is stuck').waitFor()
})

test('a message is published again by keys, with its id and a reason', async () => {
  const ledger = await withMessages()
  const { page } = await (await smallDashboard(ledger.db)).open('/outbox?state=published')
  await page.getByRole('button', { name: 'orders', exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Consumers that do not check the id handle it twice').waitFor()
  await dialog.getByLabel('Why?').fill('the consumer lost it')
  await page.keyboard.press('Enter')
  await page.getByText('The message to orders waits to be published.').waitFor()
  expect((await statesOf(ledger))[4]).toEqual({ n: '5', state: 'waiting' })
  expect(await ledger.db.rows('select action, why, subject from hookonce.audit')).toEqual([
    { action: 'replay-message', why: 'the consumer lost it', subject: id(8, 5) },
  ])
})

test('only the failed messages of a topic are published again', async () => {
  const ledger = await withMessages()
  const { page } = await (await smallDashboard(ledger.db)).open('/outbox?state=failed&topic=mails')
  await page.getByRole('button', { name: 'Publish all failed again' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 message is published again').waitFor()
  await dialog.getByLabel('Why?').fill('the broker is back')
  await dialog.getByRole('button', { name: 'Publish again' }).click()
  await page.getByText('1 message waits to be published.').waitFor()
  expect((await statesOf(ledger)).slice(2, 4)).toEqual([
    { n: '3', state: 'failed' },
    { n: '4', state: 'waiting' },
  ])
  await page.getByText('No message has failed').waitFor()
})

test('a payload is shown as text on request, and the view is in the audit', async () => {
  const { db } = await withMessages()
  const { open, token } = await smallDashboard(db)
  const { page } = await open('/outbox?state=published')
  await page.getByRole('button', { name: 'orders', exact: true }).click()
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)
  await page.getByRole('button', { name: 'Show the payload' }).click()
  await page.getByText('{"n":12345678901234567890,"html":"<b>x</b>"}').waitFor()
  expect(await db.rows('select action from hookonce.audit')).toEqual([{ action: 'read-body' }])

  const viewer = await open('/outbox?state=failed', { token: await token({ name: 'eve', role: 'viewer' }) })
  await viewer.page.getByRole('button', { name: 'mails', exact: true }).click()
  await viewer.page.getByText('gave up after 20 attempts').first().waitFor()
  expect(await viewer.page.getByRole('button', { name: /Publish|payload/ }).count()).toBe(0)
})
