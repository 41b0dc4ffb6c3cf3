import { expect, test } from 'vitest'
import { custom } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { SENDER, signed, testSource } from '../../support/source.ts'

/* Deliveries that are refused, or get no job, for other reasons than their signature. */

const rejections = (db: TestDatabase): Promise<unknown[]> =>
  db.rows('select source, code, count::int from hookonce.rejection order by source, code')
const keys = async (db: TestDatabase): Promise<unknown[]> =>
  (await db.rows('select event_key from hookonce.receipt order by event_key')).map((row) => row.event_key)

test('an event that no filter chooses gets no job, and is not stored', async () => {
  const db = await freshDatabase()
  const receiver = receiving(db, { types: 'none' })
  const { hooks, send } = receiver
  hooks.on('test', 'invoice.*', () => undefined, {
    name: 'large',
    filter: ({ payload }) => Number((payload as { amount: number }).amount) > 100,
  })
  hooks.on('test', ['invoice.paid', 'charge.*'], () => undefined, { name: 'all' })

  expect((await send({ id: 'evt_1', type: 'invoice.paid', amount: 500 })).status).toBe(202)
  expect((await send({ id: 'evt_2', type: 'invoice.paid', amount: 5 })).status).toBe(202)
  const ignored = await send({ id: 'evt_3', type: 'invoice.voided', amount: 5 })
  expect(ignored.status).toBe(200)
  expect(await ignored.json()).toEqual({ status: 'ignored' })
  expect((await send({ id: 'evt_4', type: 'charge.failed' })).status).toBe(202)
  const jobs = await db.rows(
    `select r.event_key, s.name from hookonce.job j
     join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id
     join hookonce.subscriber s on s.id = j.subscriber order by 1, 2`,
  )
  expect(jobs.map((row) => `${row.event_key} ${row.name}`)).toEqual([
    'evt_1 all',
    'evt_1 large',
    'evt_2 all',
    'evt_4 all',
  ])
  expect(await keys(db)).toEqual(['evt_1', 'evt_2', 'evt_4'])
  expect(await db.rows('select name, pattern from hookonce.subscriber order by name')).toEqual([
    { name: 'all', pattern: 'invoice.paid, charge.*' },
    { name: 'large', pattern: 'invoice.* (filtered)' },
  ])
})

test('a replay gives a filtered subscriber no job that the filter refused, unless it is named', async () => {
  const db = await freshDatabase()
  const { hooks, send } = receiving(db, { types: 'none' })
  hooks.on('test', '*', () => undefined, { name: 'all' })
  hooks.on('test', '*', () => undefined, { name: 'none', filter: () => false })
  const { receipt } = (await (await send({ id: 'evt_1', type: 'a' })).json()) as { receipt: string }
  await db.pool.query(`update hookonce.job set state = 'failed', finished_at = now()`)
  const subscribers = async (): Promise<unknown[]> =>
    (
      await db.rows(
        'select s.name from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber order by 1',
      )
    ).map(({ name }) => name)
  expect(await hooks.replay(receipt)).toMatchObject({ jobs: 1 })
  expect(await subscribers()).toEqual(['all'])
  expect(await hooks.replay(receipt, { subscriber: 'none' })).toMatchObject({ jobs: 1 })
  expect(await subscribers()).toEqual(['all', 'none'])
})

test('a filter that throws loses no event', async () => {
  const db = await freshDatabase()
  const troubles: string[] = []
  const { hooks, send } = receiving(db, {
    types: 'none',
    options: { observers: [{ trouble: ({ doing }) => void troubles.push(doing) }] },
  })
  const filter = (): boolean => {
    throw new Error('a fault in the filter')
  }
  hooks.on('test', '*', () => undefined, { filter })
  expect((await send({ id: 'evt_1', type: 'a' })).status).toBe(202)
  expect(await db.number('select count(*) from hookonce.job')).toBe(1)
  expect(troubles).toEqual(['filtering an event'])
})

test('two tenants have a source of the same name, and the same event key', async () => {
  const db = await freshDatabase()
  const sources = {
    'acme/shop': custom({ ...SENDER, tenant: 'acme' }),
    'bolt/shop': custom({ ...SENDER, tenant: 'bolt', secret: 'another-secret' }),
  }
  const seen: string[] = []
  const { hooks } = receiving(db, {
    sources,
    handler: ({ tenant, source, key }) => void seen.push(`${tenant} ${source} ${key}`),
  })
  const body = JSON.stringify({ id: 'evt_1', type: 'a' })
  const send = async (source: keyof typeof sources, signer: keyof typeof sources): Promise<number> => {
    const headers = sources[signer].sign({ body })
    return (await hooks.fetch(new Request('http://x/', { method: 'POST', body, headers }), { source })).status
  }
  expect(await send('acme/shop', 'acme/shop')).toBe(202)
  expect(await send('bolt/shop', 'acme/shop')).toBe(401)
  expect(await send('bolt/shop', 'bolt/shop')).toBe(202)
  expect(await send('bolt/shop', 'bolt/shop')).toBe(200)
  expect(await db.rows('select tenant, source, event_key from hookonce.receipt order by tenant')).toEqual([
    { tenant: 'acme', source: 'shop', event_key: 'evt_1' },
    { tenant: 'bolt', source: 'shop', event_key: 'evt_1' },
  ])
  await hooks.pause('bolt/shop')
  expect(await db.rows('select tenant from hookonce.source where paused_at is not null')).toEqual([
    { tenant: 'bolt' },
  ])
})

test('a key that names another tenant than the source is refused', () => {
  expect(() => receiving({ url: '' }, { sources: { 'acme/shop': testSource() } })).toThrow(
    'sources.acme/shop: the source has the tenant "default"',
  )
})

test('addresses outside the allow-list are refused before the body is read, and leave one row', async () => {
  const db = await freshDatabase()
  const receiver = receiving(db, {
    options: {
      sourceLimits: { test: { allow: ['192.0.2.0/24'] } },
      trustedProxies: ['127.0.0.1'],
    },
  })
  const url = `${await receiver.listen()}/in/test`
  const { body, headers } = signed({ id: 'evt_1', type: 'a' })
  const from = async (forwardedFor: Record<string, string>): Promise<Response> =>
    fetch(url, { method: 'POST', body, headers: { ...headers, ...forwardedFor } })
  for (const forwarded of [{}, { 'x-forwarded-for': '192.0.2.7, 203.0.113.1' }]) {
    const refused = await from(forwarded)
    expect(refused.status).toBe(403)
    expect(await refused.json()).toEqual({ error: 'ADDRESS_NOT_ALLOWED' })
  }
  expect((await from({ 'x-forwarded-for': '203.0.113.1, 192.0.2.7' })).status).toBe(202)
  // The fetch standard has no address, so the delivery is refused.
  expect((await receiver.send({ id: 'evt_2', type: 'a' })).status).toBe(403)
  await receiver.stop()
  expect(await rejections(db)).toEqual([{ source: 'test', code: 'ADDRESS_NOT_ALLOWED', count: 3 }])
})

test('above the rate genuine deliveries get 429; forged ones do not use it up', async () => {
  const db = await freshDatabase()
  const receiver = receiving(db, { options: { sourceLimits: { test: { ratePerSecond: 0.001 } } } })
  const forged = { method: 'POST', body: '{}', headers: { 'test-signature': '00' } }
  for (let n = 0; n < 3; n += 1) expect((await receiver.post(forged)).status).toBe(401)
  expect((await receiver.send({ id: 'evt_1', type: 'a' })).status).toBe(202)
  const refused = await receiver.send({ id: 'evt_2', type: 'a' })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toEqual({ error: 'RATE_LIMITED' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(900)
  expect((await receiver.post(forged)).status).toBe(429)
  await receiver.stop()
  expect(await keys(db)).toEqual(['evt_1'])
  expect(await rejections(db)).toContainEqual({ source: 'test', code: 'RATE_LIMITED', count: 2 })
})

test('a source has its own limit of body bytes, above or below the general limit', async () => {
  const db = await freshDatabase()
  const sources = { small: testSource(), large: testSource(), usual: testSource() }
  const receiver = receiving(db, {
    sources,
    options: {
      limits: { maxBodyBytes: 1_000 },
      sourceLimits: { small: { maxBodyBytes: 100 }, large: { maxBodyBytes: 10_000 } },
    },
  })
  const status = async (source: string, bytes: number): Promise<number> =>
    (await receiver.post(signed({ id: `evt_${bytes}`, type: 'a', pad: 'x'.repeat(bytes) }), `/in/${source}`))
      .status
  expect(await Promise.all([status('small', 1), status('small', 200)])).toEqual([202, 413])
  expect(await Promise.all([status('usual', 200), status('usual', 2_000)])).toEqual([202, 413])
  expect(await Promise.all([status('large', 2_000), status('large', 20_000)])).toEqual([202, 413])
})

test('limits of an unknown or inline source are refused', () => {
  expect(() => receiving({ url: '' }, { options: { sourceLimits: { tset: {} } } })).toThrow(
    'sourceLimits.tset: no source is named "tset" (did you mean "test"?)',
  )
  expect(() => receiving({ url: '' }, { options: { sourceLimits: { test: { allow: ['x'] } } } })).toThrow(
    'expected an IP address or a range',
  )
  const { hooks } = receiving({ url: '' }, { types: 'none', options: { sourceLimits: { test: {} } } })
  expect(() => hooks.inline('test', () => undefined)).toThrow('sourceLimits.test does not apply')
})
