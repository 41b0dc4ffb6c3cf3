import { expect, test } from 'vitest'
import { line, mailgun, meta, revolut, slack, x } from '../../../src/sources/index.ts'
import { lintEventKeys } from '../../../src/upkeep/lint-event-keys.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'

/*
 * A genuine delivery that cannot be parsed is recorded unchanged: it is never acknowledged and
 * dropped.
 */

const settings = { verifyToken: 'token' }
const sources = {
  meta: meta({ secret: 's', settings }),
  x: x({ secret: 's' }),
  line: line({ secret: 's' }),
  slack: slack({ secret: 's' }),
}
type Name = keyof typeof sources

function genuine(name: Name, body: string): RequestInit {
  const { method, headers, body: bytes } = sources[name].deliver({ body })
  return { method, headers, body: bytes }
}

const recorded = (db: TestDatabase) =>
  db.rows<{ event_type: string; body: Uint8Array }>('select event_type, body from hookonce.receipt')

test.each<{ what: string; name: Name; body: object; type: string }>([
  {
    what: 'a thread that another app controls',
    name: 'meta',
    body: { object: 'page', entry: [{ id: 'p', time: 1, standby: [{ message: { mid: 'm' } }] }] },
    type: 'page.standby',
  },
  {
    what: 'a change of Instagram in the entry itself',
    name: 'meta',
    body: { object: 'instagram', entry: [{ id: 'i', time: 1, field: 'comments', value: { id: 'c' } }] },
    type: 'instagram.comments',
  },
  {
    what: 'names of changed fields without their values',
    name: 'meta',
    body: { object: 'user', entry: [{ id: 'u', uid: 'u', time: 1, changed_fields: ['feed'] }] },
    type: 'user.changed_fields',
  },
  {
    what: 'a user who takes the permission back',
    name: 'x',
    body: { user_event: { revoke: { date_time: '2024-01-01T00:00:00+00:00', source: { user_id: '1' } } } },
    type: 'user_event',
  },
  { what: 'anything', name: 'x', body: { hello: 'world' }, type: 'unknown' },
  { what: 'anything', name: 'line', body: { hello: 'world' }, type: 'unknown' },
])('$name: $what is one event', async ({ name, body, type }) => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources })
  const text = JSON.stringify(body)
  for (const _ of [1, 2]) expect((await post(genuine(name, text), `/in/${name}`)).status).toBe(200)
  expect((await recorded(db)).map((row) => [row.event_type, String(row.body)])).toEqual([[type, text]])
})

test('an unparseable delivery is recorded even without a subscriber, and is in the log of rejections', async () => {
  const db = await freshDatabase()
  const { hooks, post, stop } = receiving(db, { sources, types: 'page.feed' })
  for (let n = 0; n < 6; n += 1) await post(genuine('line', `{"hello":${n}}`), '/in/line')
  const { shards } = await hooks.ledger('test')
  await stop()
  expect(await recorded(db)).toHaveLength(6)
  expect(await db.number('select count(*) from hookonce.job')).toBe(0)
  expect(await db.rows('select code, count::int from hookonce.rejection')).toEqual([
    { code: 'EVENT_KEY_MISSING', count: 6 },
  ])
  expect(await lintEventKeys({ pool: db.pool, shards })).toMatchObject([
    { source: 'line', finding: 'missing' },
  ])
})

test('a batch with one key of 2,000 bytes is recorded whole', async () => {
  const db = await freshDatabase()
  const { post, stop } = receiving(db, { sources, types: 'message' })
  const events = ['a', 'x'.repeat(2_000), 'b'].map((webhookEventId) => ({ type: 'message', webhookEventId }))
  const batch = genuine('line', JSON.stringify({ destination: 'U', events }))
  for (const _ of [1, 2]) expect((await post(batch, '/in/line')).status).toBe(200)
  await stop()
  const keys = await db.rows<{ event_key: string }>('select event_key from hookonce.receipt')
  expect(keys.map(({ event_key }) => event_key.length).sort()).toEqual([1, 1, 64])
  expect(await db.number('select count(*) from hookonce.job')).toBe(3)
  expect(await db.rows('select code, count::int from hookonce.rejection')).toEqual([
    { code: 'EVENT_KEY_TOO_LONG', count: 2 },
  ])
})

test('an event whose type is too long is recorded, and patterns match the start of its type', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources, types: 'message.*' })
  for (const start of ['message.', 'other.']) {
    const events = [{ type: start + 'x'.repeat(10_000), webhookEventId: start }]
    const { status } = await post(genuine('line', JSON.stringify({ destination: 'U', events })), '/in/line')
    expect(status).toBe(200)
  }
  expect(await recorded(db)).toHaveLength(2)
  expect(
    await db.rows(`select event_key from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id`),
  ).toEqual([{ event_key: 'message.' }])
})

test('the check of LINE, a batch without events, is answered and leaves nothing', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, { sources })
  expect((await post(genuine('line', '{"destination":"U","events":[]}'), '/in/line')).status).toBe(200)
  expect(await recorded(db)).toEqual([])
})

test('a genuine event without an id is recorded once under a derived key', async () => {
  const db = await freshDatabase()
  const seen: string[] = []
  const { hooks, post } = receiving(db, { sources, handler: ({ type }) => void seen.push(type) })
  await hooks.start()
  const odd = (n: number): RequestInit => genuine('slack', `{"type":"event_callback","n":${n}}`)
  expect((await post(odd(1), '/in/slack')).status).toBe(202)
  expect((await post(odd(1), '/in/slack')).status).toBe(200)
  expect((await post(odd(2), '/in/slack')).status).toBe(202)
  expect(await recorded(db)).toHaveLength(2)
})

test('revolut: two declined payments of one order are two events, although they are equal', async () => {
  const db = await freshDatabase()
  const payments = revolut({ secret: 's' })
  const { post } = receiving(db, { sources: { payments } })
  const send = async (event: string): Promise<number> => {
    const { method, headers, body } = payments.deliver({ body: JSON.stringify({ event, order_id: 'o' }) })
    return (await post({ method, headers, body }, '/in/payments')).status
  }
  expect([await send('ORDER_PAYMENT_DECLINED'), await send('ORDER_PAYMENT_DECLINED')]).toEqual([202, 202])
  expect([await send('ORDER_COMPLETED'), await send('ORDER_COMPLETED')]).toEqual([202, 200])
  expect(await recorded(db)).toHaveLength(3)
})

test('mailgun: a wrong signature is answered so that it is sent again, unless configured otherwise', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db, {
    sources: { mail: mailgun({ secret: 's' }), final: mailgun({ secret: 's', refusedStatus: 406 }) },
  })
  const { method, headers, body } = mailgun({ secret: 'other' }).deliver({
    body: JSON.stringify({ signature: { token: 't' }, 'event-data': { id: 'e', event: 'opened' } }),
  })
  // Mailgun never resends a delivery that is answered 406: with a wrong secret, every event would
  // be lost.
  expect((await post({ method, headers, body }, '/in/mail')).status).toBe(401)
  expect((await post({ method, headers, body }, '/in/final')).status).toBe(406)
})
