import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { adyen, sendgrid } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/*
 * One request with many events: one receipt per event, and an acknowledgement only when all are
 * recorded.
 */

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const source = sendgrid({ secret: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() })

const mail = (id: string, more: object = {}): object => ({
  sg_event_id: id,
  sg_message_id: `m-${id}`,
  event: 'delivered',
  timestamp: 1_700_000_000,
  ...more,
})

function batch(events: readonly object[], text = JSON.stringify(events)): RequestInit {
  const { method, headers, body } = source.deliver({ body: text })
  return { method, headers, body }
}

test('n events make n receipts, and a redelivery with one new event adds one', async () => {
  const db = await freshDatabase()
  const seen: unknown[] = []
  const { hooks, post } = receiving(db, {
    sources: { mail: source },
    handler: (event) => {
      seen.push([event.key, event.object])
    },
  })
  await hooks.start()
  const first = await post(batch([mail('a'), mail('b'), mail('c')]), '/in/mail')
  expect(first.status).toBe(202)
  expect(await first.json()).toEqual({ status: 'recorded', events: 3 })

  const again = await post(batch([mail('a'), mail('b'), mail('c'), mail('d')]), '/in/mail')
  expect(again.status).toBe(202)
  expect(
    await db.rows('select event_key, event_type, object_id from hookonce.receipt order by event_key'),
  ).toEqual(
    ['a', 'b', 'c', 'd'].map((id) => ({ event_key: id, event_type: 'delivered', object_id: `m-${id}` })),
  )
  await until('all four are processed', () => seen.length === 4)
  expect(seen).toContainEqual(['d', mail('d')])
})

test('a batch of more events than the queue holds is still recorded', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources: { mail: source }, options: { limits: { maxWaiting: 3 } } })
  const events = Array.from({ length: 20 }, (_, n) => mail(`e${n}`))
  expect((await post(batch(events), '/in/mail')).status).toBe(202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(20)
})

test('an event is recorded in the bytes of its sender', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources: { mail: source } })
  const event = '{"sg_event_id":"a","event":"x","big":12345678901234567890, "n":1.0}'
  await post(batch([], `[ ${event} ,{"sg_event_id":"b","event":"x"}]\r\n`), '/in/mail')
  const rows = await db.rows('select body from hookonce.receipt order by event_key')
  expect(rows.map(({ body }) => String(body))).toEqual([`[${event}]`, '[{"sg_event_id":"b","event":"x"}]'])
})

test('an event of a batch without a key is recorded under a derived key', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources: { mail: source } })
  const answer = await post(batch([mail('a'), { event: 'x' }]), '/in/mail')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toEqual({ status: 'recorded', events: 2 })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})

test('nothing of a batch is acknowledged while the ledger is unreachable', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources: { mail: source } })
  await post(batch([mail('a')]), '/in/mail')
  await db.rows('alter table hookonce.receipt rename to elsewhere')
  const answer = await post(batch([mail('a'), mail('b')]), '/in/mail')
  await db.rows('alter table hookonce.elsewhere rename to receipt')
  expect(answer.status).toBe(503)
  expect((await post(batch([mail('a'), mail('b')]), '/in/mail')).status).toBe(202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})

test('a batch without events leaves a trace', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources: { mail: source } })
  expect((await post(batch([]), '/in/mail')).status).toBe(202)
  expect(await db.rows('select event_type, body from hookonce.receipt')).toEqual([
    { event_type: 'unknown', body: Buffer.from('[]') },
  ])
})

test('if every event carries its signature, a wrong one refuses the delivery', async () => {
  const db = await freshDatabase()
  const payments = adyen({ secret: '44782def547aaa06c910c43932b1eb0c' })
  const { post } = receiving(db, { sources: { payments } })
  const item = (pspReference: string): object => ({
    NotificationRequestItem: { pspReference, eventCode: 'AUTHORISATION', success: 'true' },
  })
  const { headers, body } = payments.deliver({
    body: JSON.stringify({ live: 'false', notificationItems: [item('p1'), item('p2')] }),
  })
  const forged = String(Buffer.from(body)).replace('"p2"', '"p3"')
  expect((await post({ method: 'POST', headers, body: forged }, '/in/payments')).status).toBe(401)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
  expect((await post({ method: 'POST', headers, body }, '/in/payments')).status).toBe(202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})
