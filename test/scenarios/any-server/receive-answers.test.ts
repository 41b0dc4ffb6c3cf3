import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { custom, lemonsqueezy, stripe } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { type Receiver, receiving } from '../../support/receiver.ts'
import { SENDER, signed, testSource } from '../../support/source.ts'
import { type Lock, lockTable } from '../../support/table-lock.ts'
import { until } from '../../support/until.ts'

/* Every row of "How a delivery is answered", with its rows in the ledger. */

const PAID = { id: 'evt_1', type: 'invoice.paid' }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const receipts = (db: TestDatabase): Promise<number> => db.number('select count(*) from hookonce.receipt')
const jobs = (db: TestDatabase): Promise<number> => db.number('select count(*) from hookonce.job')
const duplicates = (db: TestDatabase): Promise<unknown[]> =>
  db.rows(`select count, mismatches, encode(mismatch_sha256, 'hex') as hash from hookonce.duplicate`)
const rejections = (db: TestDatabase): Promise<unknown[]> =>
  db.rows('select source, code, count::int from hookonce.rejection order by source, code')

describe('recorded', () => {
  test('a new event is answered 202 with the id of the receipt that is in the ledger', async () => {
    const db = await freshDatabase()
    const { send } = receiving(db)
    const answer = await send({ ...PAID, amount: 4200 })

    expect(answer.status).toBe(202)
    expect(answer.headers.get('content-type')).toBe('application/json')
    const [row] = await db.rows(
      'select id, source, event_key, event_type, secret, body from hookonce.receipt',
    )
    expect(await answer.json()).toEqual({ status: 'recorded', receipt: row?.id })
    expect(row).toMatchObject({ source: 'test', event_key: 'evt_1', event_type: 'invoice.paid', secret: 1 })
    expect(String(row?.body)).toBe(JSON.stringify({ ...PAID, amount: 4200 }))
    expect(await db.rows('select state, attempt, worker from hookonce.job')).toEqual([
      { state: 'received', attempt: 0, worker: null },
    ])
  })

  test('a provider that requires exactly 200 gets 200', async () => {
    const db = await freshDatabase()
    const shop = lemonsqueezy({ secret: 'squeeze' })
    const { post } = receiving(db, { sources: { shop } })
    const body = JSON.stringify({
      meta: { event_name: 'order_created' },
      data: { type: 'orders', id: '1', attributes: { updated_at: '2026-01-02T03:04:05.000000Z' } },
    })
    const answer = await post({ method: 'POST', body, headers: shop.sign({ body }) }, '/in/shop')

    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ status: 'recorded' })
    expect(await db.rows('select source, object_id, occurred_at from hookonce.receipt')).toEqual([
      { source: 'shop', object_id: '1', occurred_at: new Date('2026-01-02T03:04:05Z') },
    ])
  })

  test('a provider that requires 204 gets it without a body, by fetch and by node:http', async () => {
    const db = await freshDatabase()
    const sources = { test: custom({ ...SENDER, acceptedStatus: 204 }) }
    const { send, listen } = receiving(db, { sources })
    const event = { id: 'evt_1', type: 'count' }
    const answers = [await send(event), await fetch(`${await listen()}/in/test`, signed(event))]
    expect(answers.map(({ status }) => status)).toEqual([204, 204])
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['', ''])
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  })

  test('nothing is answered before the commit', async () => {
    const db = await freshDatabase()
    const { hooks, send } = receiving(db)
    await hooks.ledger('test')
    const lock = await lockTable(db, 'hookonce.receipt')
    let answered = false
    const sending = send(PAID).then((answer) => {
      answered = true
      return answer
    })
    await lock.waiters(1)
    expect(answered).toBe(false)
    await lock.release()

    expect((await sending).status).toBe(202)
    expect(await receipts(db)).toBe(1)
  })
})

describe('known already', () => {
  test('a repeat is answered 200 with the same receipt id, and counted', async () => {
    const db = await freshDatabase()
    const { send, stop } = receiving(db)
    const first = await send(PAID)
    const second = await send(PAID)

    expect([first.status, second.status]).toEqual([202, 200])
    const { receipt } = (await first.json()) as { receipt: string }
    expect(await second.json()).toEqual({ status: 'duplicate', receipt })
    await stop()
    expect(await receipts(db)).toBe(1)
    expect(await jobs(db)).toBe(1)
    expect(await duplicates(db)).toEqual([{ count: 1, mismatches: 0, hash: '' }])
  })

  test('a repeat is answered 200 while the first is still being processed', async () => {
    const db = await freshDatabase()
    let finish: () => void = () => undefined
    const running = new Promise<void>((resolve) => {
      finish = resolve
    })
    let runs = 0
    const { hooks, send } = receiving(db, {
      handler: () => {
        runs += 1
        return running
      },
    })
    await hooks.start()
    expect((await send(PAID)).status).toBe(202)
    await until('the handler runs', () => runs === 1)
    expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'processing' }])
    expect((await send(PAID)).status).toBe(200)
    finish()
    await until('it is processed', () =>
      db.number(`select count(*) from hookonce.job where state = 'processed'`),
    )
    expect(runs).toBe(1)
  })

  test('a repeat is answered 200 when the first has failed, and does not revive it', async () => {
    const db = await freshDatabase()
    const { hooks, send } = receiving(db, {
      handler: () => {
        throw new Error('no')
      },
      options: { retry: { maxAttempts: 1 } },
    })
    await hooks.start()
    expect((await send(PAID)).status).toBe(202)
    await until('it failed', () => db.number(`select count(*) from hookonce.job where state = 'failed'`))
    expect((await send(PAID)).status).toBe(200)
    expect(await db.rows('select state, attempt from hookonce.job')).toEqual([
      { state: 'failed', attempt: 1 },
    ])
  })
})

describe('same key, other body', () => {
  test('the first body stays; the other is answered 200 and counted with its hash', async () => {
    const db = await freshDatabase()
    const { send, stop } = receiving(db)
    const other = JSON.stringify({ ...PAID, amount: 2 })
    await send({ ...PAID, amount: 1 })
    expect((await send({ ...PAID, amount: 1 })).status).toBe(200)
    const answer = await send(other)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ status: 'duplicate' })
    await stop()

    expect(await duplicates(db)).toEqual([{ count: 2, mismatches: 1, hash: sha256(other) }])
    const [row] = await db.rows('select body from hookonce.receipt')
    expect(String(row?.body)).toBe(JSON.stringify({ ...PAID, amount: 1 }))
  })

  test('a later repeat with the first body keeps the hash of the one that differed', async () => {
    const db = await freshDatabase()
    const { send, stop } = receiving(db)
    const other = JSON.stringify({ ...PAID, amount: 2 })
    await send(PAID)
    await send(other)
    await until('the mismatch is counted', () => db.number('select sum(mismatches) from hookonce.duplicate'))
    await send(PAID)
    await stop()
    expect(await duplicates(db)).toEqual([{ count: 2, mismatches: 1, hash: sha256(other) }])
  })

  test("mismatch: 'reject' answers 409, and the first body stays as well", async () => {
    const db = await freshDatabase()
    const { send, stop } = receiving(db, { sources: { test: testSource({ mismatch: 'reject' }) } })
    const other = JSON.stringify({ ...PAID, amount: 2 })
    await send(PAID)
    const answer = await send(other)
    expect(answer.status).toBe(409)
    expect(await answer.json()).toEqual({ error: 'BODY_MISMATCH' })
    expect((await send(PAID)).status).toBe(200)
    await stop()

    expect(await receipts(db)).toBe(1)
    expect(await duplicates(db)).toEqual([{ count: 2, mismatches: 1, hash: sha256(other) }])
  })

  test('the other body in the same group commit is a mismatch too', async () => {
    const db = await freshDatabase()
    const { hooks, send, stop } = receiving(db, { sources: { test: testSource({ mismatch: 'reject' }) } })
    await hooks.ledger('test')
    const answers = await Promise.all([send(PAID), send(PAID), send({ ...PAID, amount: 2 })])
    expect(answers.map((answer) => answer.status)).toEqual([202, 200, 409])
    await stop()
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 2, mismatches: 1 },
    ])
  })
})

describe('same key, other body, together', () => {
  test('copies in one group commit are compared with the recorded body, not with each other', async () => {
    const db = await freshDatabase()
    const { send, stop } = receiving(db, { sources: { test: testSource({ mismatch: 'reject' }) } })
    const other = { ...PAID, amount: 2 }
    await send(PAID)
    const answers = await Promise.all([send(other), send(PAID), send(other)])
    expect(answers.map((answer) => answer.status)).toEqual([409, 200, 409])
    await stop()
    expect(await duplicates(db)).toEqual([{ count: 3, mismatches: 2, hash: sha256(JSON.stringify(other)) }])
  })
})

describe('type not wanted', () => {
  test('it is answered 200 and counted, and nothing is stored', async () => {
    const db = await freshDatabase()
    const { hooks, send, stop } = receiving(db, { types: 'invoice.*' })
    const answer = await send({ id: 'evt_2', type: 'customer.created' })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ status: 'ignored' })
    expect(await hooks.metrics()).toContain('hookonce_unwanted_total{source="test"} 1')
    await stop()
    expect(await receipts(db)).toBe(0)
    expect(await rejections(db)).toEqual([])
  })

  test("unwanted: 'record' stores it, without jobs", async () => {
    const db = await freshDatabase()
    const { send } = receiving(db, { sources: { test: testSource({ unwanted: 'record' }) }, types: 'none' })
    expect((await send(PAID)).status).toBe(202)
    expect((await send(PAID)).status).toBe(200)
    expect(await db.rows('select event_key from hookonce.receipt')).toEqual([{ event_key: 'evt_1' }])
    expect(await jobs(db)).toBe(0)
  })
})

describe('refused', () => {
  const gateway = stripe({ secret: 'whsec_stripe' })
  const good = signed(PAID)
  const old = JSON.stringify({ ...PAID, object: 'event' })
  const stripeAt = (timestampMs: number): RequestInit => ({
    method: 'POST',
    body: old,
    headers: gateway.sign({ body: old, timestampMs }),
  })
  const cases: {
    name: string
    init: RequestInit
    path?: string
    status: number
    code: string
    source?: string
  }[] = [
    {
      name: 'a wrong signature',
      init: { ...good, headers: { ...good.headers, 'test-signature': '00'.repeat(32) } },
      status: 401,
      code: 'SIGNATURE_MISMATCH',
    },
    {
      name: 'a changed body',
      init: { ...good, body: `${good.body} ` },
      status: 401,
      code: 'SIGNATURE_MISMATCH',
    },
    {
      name: 'no signature',
      init: { method: 'POST', body: good.body },
      status: 401,
      code: 'SIGNATURE_MISSING',
    },
    {
      name: 'a signature that is none',
      init: { ...good, headers: { 'test-signature': 'hello' } },
      status: 401,
      code: 'SIGNATURE_MALFORMED',
    },
    {
      name: 'a signature that is too old',
      init: stripeAt(Date.now() - 3_600_000),
      path: '/in/stripe',
      status: 401,
      code: 'TIMESTAMP_TOO_OLD',
      source: 'stripe',
    },
    {
      name: 'a signature from the future',
      init: stripeAt(Date.now() + 3_600_000),
      path: '/in/stripe',
      status: 401,
      code: 'TIMESTAMP_IN_FUTURE',
      source: 'stripe',
    },
    { name: 'a body that is not JSON', init: signed('{"id":'), status: 400, code: 'BODY_UNPARSABLE' },
    { name: 'an empty body', init: signed(''), status: 400, code: 'BODY_UNPARSABLE' },
    {
      name: 'an unknown source',
      init: good,
      path: '/in/nobody',
      status: 404,
      code: 'SOURCE_UNKNOWN',
      source: '(unknown)',
    },
    {
      name: 'a compressed body',
      init: { ...good, headers: { ...good.headers, 'content-encoding': 'gzip' } },
      status: 415,
      code: 'CONTENT_ENCODING_UNSUPPORTED',
    },
    { name: 'a wrong method', init: { method: 'GET' }, status: 405, code: 'METHOD_NOT_ALLOWED' },
    {
      name: 'a body over the limit',
      init: signed({ ...PAID, padding: 'x'.repeat(20_000) }),
      status: 413,
      code: 'BODY_TOO_LARGE',
    },
  ]

  test.each(cases)('$name is answered $status $code and leaves a count, no receipt', async (given) => {
    const { init, path, status, code, source = 'test' } = given
    const db = await freshDatabase()
    const { hooks, post, stop } = receiving(db, {
      sources: { test: testSource(), stripe: gateway },
      options: { limits: { maxBodyBytes: 16_384 } },
    })
    const answer = await post(init, path)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toEqual({ error: code })
    expect(answer.headers.get('allow')).toBe(code === 'METHOD_NOT_ALLOWED' ? 'POST' : null)
    expect(await hooks.metrics()).toContain(`hookonce_rejected_total{source="${source}",reason="${code}"} 1`)
    await stop()
    expect(await receipts(db)).toBe(0)
    expect(await rejections(db)).toEqual([{ source, code, count: 1 }])
  })

  test('a provider that requires another status for a bad signature gets it', async () => {
    const db = await freshDatabase()
    const mail = custom({
      provider: 'mail',
      secret: 'mail',
      signature: { algorithm: 'hmac-sha256', header: 'mail-signature', encoding: 'hex' },
      event: { key: 'json:id' },
      refusedStatus: 406,
    })
    const { post, stop } = receiving(db, { sources: { mail } })
    expect((await post({ method: 'POST', body: '{"id":1}' }, '/in/mail')).status).toBe(406)
    await stop()
    expect(await rejections(db)).toEqual([{ source: 'mail', code: 'SIGNATURE_MISSING', count: 1 }])
  })
})

describe('rotation', () => {
  test('the receipt has the position of the secret that matched', async () => {
    const db = await freshDatabase()
    const old = stripe({ secret: 'whsec_old' })
    const { post } = receiving(db, { sources: { stripe: stripe({ secret: ['whsec_new', 'whsec_old'] }) } })
    const send = (source: typeof old, id: string): Promise<Response> => {
      const body = JSON.stringify({ id, type: 'a' })
      return post({ method: 'POST', body, headers: source.sign({ body }) }, '/in/stripe')
    }
    expect((await send(old, 'evt_old')).status).toBe(202)
    expect((await send(stripe({ secret: 'whsec_new' }), 'evt_new')).status).toBe(202)
    expect((await send(stripe({ secret: 'whsec_other' }), 'evt_other')).status).toBe(401)
    expect(await db.rows('select event_key, secret from hookonce.receipt order by secret')).toEqual([
      { event_key: 'evt_new', secret: 1 },
      { event_key: 'evt_old', secret: 2 },
    ])
  })
})

describe('overloaded', () => {
  /** As many commits as may be in flight at once. Later deliveries wait. */
  async function twoInFlight(send: Receiver['send'], lock: Lock): Promise<Promise<Response>[]> {
    const first = send({ id: 'evt_1', type: 'a' })
    await lock.waiters(1)
    const second = send({ id: 'evt_2', type: 'a' })
    await lock.waiters(2)
    return [first, second]
  }

  test('with the queue full it answers 503 and Retry-After; waiting deliveries are recorded when the ledger answers', async () => {
    const db = await freshDatabase()
    const { hooks, send, stop } = receiving(db, {
      options: { limits: { maxWaiting: 1, retryAfterSeconds: 7 } },
    })
    await hooks.ledger('test')
    const lock = await lockTable(db, 'hookonce.receipt')
    const inFlight = await twoInFlight(send, lock)
    const waiting = send({ id: 'evt_3', type: 'a' })
    const refused = await until('one is refused', async () => {
      const answer = await send({ id: 'evt_4', type: 'a' })
      return answer.status === 503 ? answer : undefined
    })
    expect(refused.headers.get('retry-after')).toBe('7')
    expect(await refused.json()).toEqual({ error: 'OVERLOADED' })
    expect(await hooks.ready()).toBe(false)
    await lock.release()

    for (const answer of [...inFlight, waiting]) expect((await answer).status).toBe(202)
    expect(await hooks.ready()).toBe(true)
    await stop()
    expect(await db.rows('select event_key from hookonce.receipt order by 1')).toEqual([
      { event_key: 'evt_1' },
      { event_key: 'evt_2' },
      { event_key: 'evt_3' },
    ])
    expect(await rejections(db)).toEqual([{ source: 'test', code: 'OVERLOADED', count: 1 }])
  })

  test('deliveries that arrive together do not get past the queue limit', async () => {
    const db = await freshDatabase()
    const { hooks, send } = receiving(db, { options: { limits: { maxWaiting: 3 } } })
    await hooks.ledger('test')
    const lock = await lockTable(db, 'hookonce.receipt')
    const inFlight = await twoInFlight(send, lock)
    const answers = Array.from({ length: 20 }, (_, n) => send({ id: `evt_${n + 3}`, type: 'a' }))
    await Promise.race(answers)
    await lock.release()
    const statuses = (await Promise.all([...inFlight, ...answers])).map((answer) => answer.status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(5)
    expect(statuses.filter((status) => status === 503)).toHaveLength(17)
    expect(await receipts(db)).toBe(5)
  })

  test('with too many bytes held it answers 503 and Retry-After', async () => {
    const db = await freshDatabase()
    const { hooks, send } = receiving(db, { options: { limits: { maxHeldBytes: 1_000 } } })
    await hooks.ledger('test')
    const lock = await lockTable(db, 'hookonce.receipt')
    const padding = 'x'.repeat(600)
    const inFlight = send({ id: 'evt_1', type: 'a', padding })
    await lock.waiters(1)
    const refused = await send({ id: 'evt_2', type: 'a', padding })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await refused.json()).toEqual({ error: 'OVERLOADED' })
    await lock.release()

    expect((await inFlight).status).toBe(202)
    expect((await send({ id: 'evt_2', type: 'a', padding })).status).toBe(202)
    expect(await receipts(db)).toBe(2)
  })
})

describe('ledger down', () => {
  test('a ledger that cannot be reached is answered 503 and Retry-After', async () => {
    const { send, hooks } = receiving({ url: 'postgres://nobody@127.0.0.1:1/none' })
    const answer = await send(PAID)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await answer.json()).toEqual({ error: 'LEDGER_DOWN' })
    expect(await hooks.ready()).toBe(false)
  })

  test('a statement that the ledger refuses is answered 503, and the next delivery is tried again', async () => {
    const db = await freshDatabase()
    const { hooks, send } = receiving(db)
    await hooks.ledger('test')
    await db.pool.query('alter table hookonce.receipt rename to receipt_away')
    const refused = await send(PAID)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    await db.pool.query('alter table hookonce.receipt_away rename to receipt')
    expect((await send(PAID)).status).toBe(202)
    expect(await receipts(db)).toBe(1)
  })

  test('a process that stops answers 503 and records nothing', async () => {
    const db = await freshDatabase()
    const { hooks, send, stop } = receiving(db)
    await hooks.ledger('test')
    await stop()
    const answer = await send(PAID)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await receipts(db)).toBe(0)
  })
})
