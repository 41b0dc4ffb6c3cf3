import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { changeFeed, type Feed } from '../../../src/gateway/api/feed.ts'
import { type LiveBody, sendReply } from '../../../src/gateway/api/reply.ts'
import { watchChanges } from '../../../src/operate/changes.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { ADMIN_TOKEN, type AdminApi, adminApi, expectProblem } from '../../support/admin-api.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { type EventStream, eventStream } from '../../support/event-stream.ts'
import { deliver } from '../../support/gateway.ts'
import { deliver as deliverTo, testHooks } from '../../support/hooks.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* Changes as they are committed, and counts over time. */

function streamOf({ base }: AdminApi, lastId?: string, token = ADMIN_TOKEN): Promise<EventStream> {
  const headers = { authorization: `Bearer ${token}` }
  return eventStream(
    `${base}/stream`,
    lastId === undefined ? headers : { ...headers, 'last-event-id': lastId },
  )
}

test('a stream sends events, jobs and refusals, and continues after its last id, also after a restart', async () => {
  const api = await adminApi()
  const stream = await streamOf(api)
  await stream.next('it is open', ({ data }) => data.type === 'open')
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  const recorded = await stream.next(
    'evt_1 is recorded',
    ({ type, data }) => type === 'recorded' && data.eventKey === 'evt_1',
  )
  expect(recorded.data).toMatchObject({ tenant: 'default', source: 'stripe', eventType: 'invoice.paid' })
  const done = await stream.next(
    'its job is processed',
    ({ type, data }) => type === 'job' && data.state === 'processed',
  )
  expect(done.data).toMatchObject({ subscriber: 'app', receiptId: recorded.data.receiptId })
  await fetch(`http://127.0.0.1:${api.port}/in/stripe`, { method: 'POST', body: '{}' })
  await stream.next('a refusal', ({ type, data }) => type === 'rejected' && data.code === 'SIGNATURE_MISSING')
  // Each change is sent once, with its own id.
  const names = stream.events.map(({ data }) => JSON.stringify(data))
  expect(new Set(names).size).toBe(names.length)
  expect(new Set(stream.events.map(({ id }) => id)).size).toBe(stream.events.length)

  const last = stream.events.at(-1)?.id
  const other = await streamOf(api)
  await other.next('it is open', ({ data }) => data.type === 'open')
  stream.close()
  expect(await deliver(api.port, 'evt_2')).toBe(202)
  await other.next('evt_2', ({ data }) => data.eventKey === 'evt_2')
  const resumed = await streamOf(api, last)
  await resumed.next('evt_2, which it missed', ({ data }) => data.eventKey === 'evt_2')
  expect(resumed.events.filter(({ data }) => data.eventKey === 'evt_1')).toEqual([])
  const lastResumed = resumed.events.at(-1)?.id
  await api.gateway.stop()
  await resumed.ended

  const again = await adminApi({ db: api.db })
  expect(await deliver(again.port, 'evt_3')).toBe(202)
  const afterRestart = await streamOf(again, lastResumed)
  await afterRestart.next('evt_3, recorded before it came back', ({ data }) => data.eventKey === 'evt_3')
  const old = await streamOf(again, '1000000000000-1')
  await old.next('that it missed too much', ({ type }) => type === 'skipped')
})

test('a stream of a bound token holds nothing of other tenants, and clients are limited', async () => {
  const api = await adminApi()
  const bound = await api.token({ name: 'bound', role: 'viewer', tenant: 'acme' })
  const foreign = await streamOf(api, undefined, bound)
  const own = await streamOf(api)
  await foreign.next('it is open', ({ data }) => data.type === 'open')
  await own.next('it is open', ({ data }) => data.type === 'open')
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  await own.next('the job', ({ type }) => type === 'job')
  expect(foreign.events.filter(({ type }) => type !== '')).toEqual([])
  await Promise.all(Array.from({ length: 48 }, () => streamOf(api)))
  await until('all are connected', async () => (await api.get('/stream')).status === 503)
  expectProblem(await api.get('/stream'), 503, 'OVERLOADED')
  // Streams do not use up the limit of other requests.
  expect((await api.get('/events')).status).toBe(200)
})

test('of many changes at once the newest are sent, and a client that reads stays', async () => {
  const db = await freshDatabase()
  const feed = changeFeed(
    async () => ({ pool: db.pool, shards: 16 }),
    () => undefined,
  )
  onTestFinished(() => feed.close())
  const { texts, cut, end } = feed.open(anyClient)
  let seen = ''
  const drained = (async () => {
    for await (const text of texts) seen += text
  })()
  await until('it is open', () => seen.includes('open'))
  await seedJobs(db, 3_000)
  await until('some were skipped', () => seen.includes('event: skipped'))
  expect(cut.aborted).toBe(false)
  end()
  await drained
})

test('a stream reports when a single shard had more changes than are sent', async () => {
  const db = await freshDatabase()
  const watch = watchChanges({ pool: db.pool, shards: 16 }, {})
  await watch.look()
  await seedJobs(db, 200)
  const types = new Set<string>()
  const inShard = `update hookonce.receipt set id = ('00' || substr(replace(id::text, '-', ''), 3))::uuid, shard = 0`
  await db.rows('delete from hookonce.job')
  await db.rows(inShard)
  await until('the changes are found', async () => {
    for (const { type } of await watch.look()) types.add(type)
    return types.has('recorded')
  })
  expect([...types].sort()).toEqual(['recorded', 'skipped'])
})

test('statistics are counted by processes as it happens, by source and period', async () => {
  const { port, get, db, token } = await adminApi()
  for (const id of ['evt_1', 'evt_2', 'evt_3']) expect(await deliver(port, id)).toBe(202)
  expect(await deliver(port, 'evt_1')).toBe(200)
  await fetch(`http://127.0.0.1:${port}/in/stripe`, { method: 'POST', body: '{}' })
  await fetch(`http://127.0.0.1:${port}/in/nobody`, { method: 'POST', body: '{}' })
  const wanted = { received: 3, duplicate: 1, rejected: 2, processed: 3, failed: 0 }
  // A flush may happen between two deliveries.
  await until('the counts are added', async () => {
    const { processed, rejected } = (await get('/stats')).json.totals
    return processed === wanted.processed && rejected === wanted.rejected
  })
  for (const [period, points, stepSeconds] of [
    ['1h', 60, 60],
    ['24h', 144, 600],
    ['7d', 168, 3600],
  ] as const) {
    const stats = (await get(`/stats?period=${period}`)).json
    expect(stats).toMatchObject({ period, stepSeconds, totals: wanted })
    expect(stats.points).toHaveLength(points)
    const received = stats.points.reduce((all: number, one: { received: number }) => all + one.received, 0)
    expect(received).toBe(3)
  }
  expect((await get('/stats?source=other')).json.totals.received).toBe(0)
  const bound = await token({ name: 'bound', role: 'viewer', tenant: 'acme' })
  expect((await get('/stats', { token: bound })).json.totals.received).toBe(0)
  expectProblem(await get('/stats?period=1y'), 400, 'REQUEST_INVALID')
  expect(await db.rows('select distinct source from hookonce.rollup')).toHaveLength(2)
})

test('a stream ends when its token is revoked or its session is closed, and others go on', async () => {
  const api = await adminApi()
  const token = await api.token({ name: 'ann', role: 'viewer' })
  const [revoked, other] = await Promise.all([streamOf(api, undefined, token), streamOf(api)])
  const login = await fetch(`${api.base}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { csrf } = (await login.json()) as { csrf: string }
  const ofSession = await eventStream(`${api.base}/stream`, { cookie })
  for (const stream of [revoked, other, ofSession])
    await stream.next('it is open', ({ data }) => data.type === 'open')

  const left = await fetch(`${api.base}/session`, {
    method: 'DELETE',
    headers: { cookie, 'x-hookonce-csrf': csrf },
  })
  expect(left.status).toBe(204)
  await ofSession.ended
  // Another process does this, without the knowledge of this gateway.
  const { stderr } = await cli(['token', 'revoke', 'ann', '--why', 'she left'], { DATABASE_URL: api.db.url })
  expect(stderr).toBe('')
  await revoked.ended
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  await other.next('evt_1', ({ data }) => data.eventKey === 'evt_1')
  expect(revoked.events.filter(({ data }) => data.eventKey === 'evt_1')).toEqual([])
})

const anyClient = { tenant: undefined, lastId: undefined, isAllowed: () => Promise.resolve(true) }

/** A feed of an empty ledger, in this process. */
async function emptyFeed(): Promise<Feed> {
  const { pool } = await freshDatabase()
  const feed = changeFeed(
    async () => ({ pool, shards: 16 }),
    // The last read may find the database closed.
    () => undefined,
  )
  onTestFinished(() => feed.close())
  return feed
}

test('a client that disconnects frees its place at once', async () => {
  const feed = await emptyFeed()
  const bodies = Array.from({ length: 50 }, () => feed.open(anyClient))
  const streams = bodies.map(({ texts }) => texts[Symbol.asyncIterator]())
  await Promise.all(streams.map((texts) => texts.next()))
  expect(() => feed.open(anyClient)).toThrow('50 clients are connected')
  const waiting = streams[0]?.next()
  bodies[0]?.end()
  expect(() => feed.open(anyClient)).not.toThrow()
  expect((await waiting)?.done).toBe(true)
})

test('a client that does not read frees its place when its stream is over, and is disconnected', async () => {
  const feed = await emptyFeed()
  let isAllowed = true
  const { texts, cut } = feed.open({ ...anyClient, isAllowed: async () => isAllowed })
  await texts[Symbol.asyncIterator]().next()
  const isCut = new Promise((resolve) => cut.addEventListener('abort', resolve, { once: true }))
  isAllowed = false
  await isCut
})

/** A server that answers with this body. Returns its port. */
async function serving(body: LiveBody): Promise<number> {
  const server = createServer((_, response) => void sendReply(response, { status: 200, body }))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

test('a live body ends when its client disconnects, also while there is nothing to send', async () => {
  const ended = new Promise<void>((resolve) => {
    async function* texts() {
      yield 'first'
      await gone
    }
    const gone = new Promise<void>((done) => {
      const end = (): void => {
        done()
        resolve()
      }
      void serving({ texts: texts(), end, cut: new AbortController().signal }).then((port) => {
        const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
        client.once('data', () => client.destroy())
      })
    })
  })
  await ended
})

test('a client that does not read the rest of a live body is disconnected', async () => {
  const cut = new AbortController()
  async function* texts() {
    for (;;) yield 'x'.repeat(100_000)
  }
  const port = await serving({ texts: texts(), end: () => undefined, cut: cut.signal })
  const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
  await once(client, 'readable')
  cut.abort()
  client.on('error', () => undefined).resume()
  await once(client, 'close')
})

test('a stream continues after a reload has closed the connections of its ledger', async () => {
  const db = await freshDatabase()
  const old = quietPool(new pg.Pool({ connectionString: db.url }))
  let ledger = { pool: old, shards: 16 }
  const troubles: unknown[] = []
  const feed = changeFeed(
    async () => ledger,
    (error) => troubles.push(error),
  )
  onTestFinished(() => feed.close())
  const { texts: opened } = feed.open(anyClient)
  const texts = opened[Symbol.asyncIterator]()
  expect((await texts.next()).value).toContain('open')

  await old.end()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  await deliverTo(hooks, { id: 'evt_1', type: 'x' })
  await until('the feed has noticed', () => troubles.length > 0)
  ledger = { pool: db.pool, shards: 16 }
  const seen = async (): Promise<string> => {
    const { value } = await texts.next()
    return value.includes('evt_1') ? value : seen()
  }
  expect(await seen()).toContain('recorded')
})
