import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type CompleterEvent,
  completeLeft,
  type DuePledge,
  type KeyStore,
  memoryKeys,
  type NodeHandler,
  redisKeys,
  requestsTo,
  resumable,
  startCompleter,
} from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.remove())

const stores: Record<string, () => KeyStore> = {
  memory: memoryKeys,
  Redis: () => redisKeys({ url: redis.url, prefix: `${randomUUID()}:` }),
}

/**
 * Charges, and fails before it sends the mail while the fault lasts. `did` lists its actions, with
 * the body.
 */
function orders() {
  const did: string[] = []
  const trouble = { now: true }
  const handler: NodeHandler = async (request, response, { step }) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    await step('charge', () => did.push(`charge ${body}`))
    if (trouble.now) throw new Error('the mail server is down')
    await step('mail', () => did.push(`mail ${body}`))
    response.writeHead(201, { 'content-type': 'text/plain' }).end(`done: ${body}`)
  }
  return { did, trouble, handler }
}

/** The only pledge of a store, when it is due. */
function dueIn(store: KeyStore): Promise<DuePledge> {
  return until('it is due', async () => (await store.pledges?.due('orders', 1, 1))?.[0])
}

const userOf = (request: { headers: { authorization?: string | undefined } }): string =>
  request.headers.authorization ?? 'nobody'

describe.each(Object.entries(stores))('requests that were left, with keys in %s', (_, open) => {
  async function leave(body: string) {
    const store = open()
    onTestFinished(() => store.close())
    const { did, trouble, handler } = orders()
    const keys = {
      store,
      tenant: userOf,
      handler: 'resumable',
      pledge: 'orders',
      completeAfterMs: 1,
    } as const
    const server = await keyedServer(handler, keys)
    const alice = { headers: { authorization: 'alice' } }
    expect((await server.post('one', body, alice)).status).toBe(500)
    trouble.now = false
    const { origin } = new URL(server.url)
    const events: CompleterEvent[] = []
    /** Waits until a pledge is due by the store's clock. */
    const complete = (authorization: string) =>
      until('something is due', async () => {
        const requests = requestsTo({ store, name: 'orders', origin, headers: () => ({ authorization }) })
        await completeLeft([requests], { observe: (event) => events.push(event) })
        return events.length > 0
      })
    return { store, server, did, trouble, events, complete, alice }
  }

  test('are sent again unchanged, and their client finds the reply when it retries', async () => {
    const { server, did, events, complete, alice } = await leave('{"tea": "☕"}')
    await complete('alice')
    expect(events).toMatchObject([{ what: 'completed', task: 'orders' }])
    expect(did).toEqual(['charge {"tea": "☕"}', 'mail {"tea": "☕"}'])
    const reply = await server.post('one', '{"tea": "☕"}', alice)
    expect(reply.headers.get('idempotent-replayed')).toBe('true')
    expect([reply.status, await reply.text()]).toEqual([201, 'done: {"tea": "☕"}'])
  })

  test('are refused with the rights of another tenant, and nothing runs', async () => {
    const { server, did, events, complete, alice } = await leave('{}')
    await complete('mallory')
    expect(events).toMatchObject([{ what: 'postponed', error: { message: '/orders answered 410' } }])
    expect(did).toEqual(['charge {}'])
    expect(server.runs()).toBe(1)
    expect((await server.post('one', '{}', alice)).status).toBe(201)
    expect(did).toEqual(['charge {}', 'mail {}'])
  })

  test("a pledge does not resume another tenant's request of the same key", async () => {
    const { store, server, trouble, alice } = await leave('{}')
    const due = await dueIn(store)
    trouble.now = true
    const mallory = { authorization: 'mallory' }
    expect((await server.post('one', '{}', { headers: mallory })).status).toBe(500)
    const resuming = { ...mallory, 'idempotency-pledge': due.id }
    expect((await server.post('one', '{}', { headers: resuming })).status).toBe(410)
    expect(server.runs()).toBe(2)
    trouble.now = false
    const resumed = { ...alice.headers, 'idempotency-pledge': due.id }
    expect((await server.post('one', '{}', { headers: resumed })).status).toBe(201)
  })

  test('a request to resume an unknown key is refused, and leaves nothing', async () => {
    const { store, server, alice } = await leave('{}')
    const due = await dueIn(store)
    const headers = { ...alice.headers, 'idempotency-pledge': due.id }
    const other = await server.post('two', '{}', { headers })
    expect([other.status, await other.json()]).toMatchObject([
      410,
      { type: 'urn:hookonce:problem:pledge-gone' },
    ])
    expect(server.runs()).toBe(1)
    expect((await server.post('two', '{}', alice)).status).toBe(201)
  })
})

test('credentials are not kept with a request', async () => {
  const store = memoryKeys()
  const { handler } = orders()
  const keys = {
    store,
    tenant: userOf,
    handler: 'resumable' as const,
    pledge: 'orders',
    completeAfterMs: 1,
    fingerprint: { headers: ['authorization', 'x-version'] },
  }
  const server = await keyedServer(handler, keys)
  await server.post('one', '{}', { headers: { authorization: 'secret', 'x-version': '2', cookie: 'secret' } })
  const due = await dueIn(store)
  const kept = Buffer.from(due.bytes).toString()
  expect(kept).not.toContain('secret')
  expect(JSON.parse(kept).headers).toMatchObject({ 'content-type': 'application/json', 'x-version': '2' })
})

test('a target that names another server is not called', async () => {
  const bytes = Buffer.from(
    JSON.stringify({
      key: 'k',
      madeAt: 0,
      ttlMs: 1,
      method: 'POST',
      target: '@127.0.0.2/',
      headers: {},
      body: '',
    }),
  )
  const requests = requestsTo({ store: memoryKeys(), name: 'orders', origin: 'http://127.0.0.1:1' })
  await expect(requests.resume({ id: 'x', bytes })).rejects.toMatchObject({ code: 'PLEDGE_GONE' })
})

test('impossible options are refused at construction', async () => {
  const { pledges: _, ...without } = memoryKeys()
  const { handler } = orders()
  await expect(keyedServer(handler, { pledge: 'x' })).rejects.toThrow(/`pledge` needs `handler: 'resumable'`/)
  await expect(
    keyedServer(handler, { pledge: 'x', handler: 'resumable', onCrash: 'unknown' }),
  ).rejects.toThrow(/`pledge` has no effect/)
  await expect(keyedServer(handler, { pledge: 'x', handler: 'resumable', store: without })).rejects.toThrow(
    /needs a store with pledges/,
  )
  await expect(keyedServer(handler, { pledgeHeaders: ['Cookie'] })).rejects.toThrow(
    /credentials, which are never stored/,
  )
  const to = { store: memoryKeys(), name: 'orders' }
  expect(() => requestsTo({ ...to, origin: 'http://127.0.0.1:1/path' })).toThrow(/must have no path/)
  expect(() => requestsTo({ ...to, origin: 'ftp://127.0.0.1' })).toThrow(/must be a URL such as/)
})

test('a completer finishes requests that other processes left in Redis, while others run', async () => {
  const store = redisKeys({ url: redis.url, prefix: `${randomUUID()}:` })
  onTestFinished(() => store.close())
  const did: string[] = []
  let trouble = true
  const place = resumable(
    store,
    'place-order',
    async (item: string, { step }) => {
      await step('charge', () => did.push(`charge ${item}`))
      if (trouble) throw new Error('down')
      await step('mail', () => did.push(`mail ${item}`))
    },
    { completeAfterMs: 1 },
  )
  const items = Array.from({ length: 50 }, (_, n) => String(n))
  await Promise.all(items.map((item) => place(item, item, { tenant: 'global' }).catch(() => undefined)))
  trouble = false
  const completers = [1, 2].map(() => startCompleter([place], { everyMs: 10, observe: () => undefined }))
  onTestFinished(async () => void (await Promise.all(completers.map((completer) => completer.stop()))))
  await until('all are mailed', async () => did.length === 100)
  expect(did.toSorted()).toEqual(items.flatMap((item) => [`charge ${item}`, `mail ${item}`]).sort())
})
