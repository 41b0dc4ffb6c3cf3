import { expect, test } from 'vitest'
import type { Event } from '../../../src/index.ts'
import { custom } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { SENDER, signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

test('the first run, its retry and a replay get the same redacted bytes', async () => {
  const db = await freshDatabase()
  const seen: Event[] = []
  const { hooks, send } = receiving(db, {
    sources: { test: testSource({ redact: ['$.user.email'] }) },
    options: { pollMs: 20, retry: { baseDelayMs: 10, maxDelayMs: 10 } },
    handler(event, { attempt }) {
      seen.push(event)
      if (attempt === 1 && seen.length === 1) throw new Error('try again')
    },
  })
  await hooks.start()
  const sent = '{"id":"evt_1", "type":"a","n":12345678901234567890,"user":{"email":"a@b.test","name":"A"}}'
  await send(sent)
  await until('it is retried', () => seen.length === 2)
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  await hooks.replay(seen[0]?.receiptId ?? '')
  await until('it is replayed', () => seen.length === 3)
  const expected = sent.replace('a@b.test', '[redacted]')
  expect(seen.map(({ body }) => Buffer.from(body).toString())).toEqual([expected, expected, expected])
  expect(seen.map(({ payload }) => payload)).toEqual(Array(3).fill(JSON.parse(expected)))
})

test('order keys are made of the redacted event, in the receiver as in a replay', async () => {
  const db = await freshDatabase()
  const keys: unknown[] = []
  const { hooks, send } = receiving(db, {
    sources: { test: testSource({ redact: ['$.user'] }) },
    types: 'none',
  })
  hooks.on('test', '*', () => undefined, {
    ordered: (event) => {
      keys.push((event.payload as { user: unknown }).user)
      return 'one'
    },
  })
  await send({ id: 'evt_1', type: 'a', user: 'secret' })
  expect(keys).toEqual(['[redacted]'])
})

test('deliveries that differ only in a hidden value are repeats of one event', async () => {
  const db = await freshDatabase()
  const { send, stop } = receiving(db, { sources: { test: testSource({ redact: ['$.user'] }) } })
  await send({ id: 'evt_1', type: 'a', user: 'one' })
  await send({ id: 'evt_1', type: 'a', user: 'two' })
  await send({ id: 'evt_1', type: 'b', user: 'one' })
  await stop()
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: 2, mismatches: 1 },
  ])
})

test('a hidden id of the object is in no column, and events of a batch are redacted one by one', async () => {
  const db = await freshDatabase()
  const source = custom({
    ...SENDER,
    batch: 'json:events[]',
    event: { key: 'item:id', type: 'item:type', objectId: 'item:user' },
    redact: ['$.events[*].user'],
  })
  const { post } = receiving(db, { sources: { test: source } })
  const events = [
    { id: 'evt_1', type: 'a', user: 'user_secret' },
    { id: 'evt_2', type: 'a', user: 'user_secret' },
  ]
  expect((await post(signed(JSON.stringify({ events })))).status).toBe(202)
  const rows = await db.rows<{ object_id: string | null; body: Buffer }>(
    'select object_id, body from hookonce.receipt order by event_key',
  )
  expect(rows.map((row) => [row.object_id, row.body.toString()])).toEqual([
    [null, '{"events":[{"id":"evt_1","type":"a","user":"[redacted]"}]}'],
    [null, '{"events":[{"id":"evt_2","type":"a","user":"[redacted]"}]}'],
  ])
})

test('the stored headers reveal neither the length nor a digest of the original body', async () => {
  const db = await freshDatabase()
  const { listen } = receiving(db, { sources: { test: testSource({ redact: ['$.user'] }) } })
  const body = JSON.stringify({ id: 'evt_1', type: 'a', user: 'x'.repeat(1_234) })
  const response = await fetch(`${await listen()}/in/test`, {
    method: 'POST',
    body,
    headers: { ...signed(body).headers, 'content-md5': 'cGxhbnRlZA==', 'x-request-id': 'kept' },
  })
  expect(response.status).toBe(202)
  const [row] = await db.rows<{ headers: string }>('select headers from hookonce.receipt')
  expect(row?.headers).toContain('content-length: [redacted]')
  expect(row?.headers).not.toContain(String(Buffer.byteLength(body)))
  expect(row?.headers).not.toContain('cGxhbnRlZA==')
  expect(row?.headers).toContain('x-request-id: kept')
})
