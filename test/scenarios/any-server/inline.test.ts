import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hookonce } from '../../../src/index.ts'
import { type InlineHandler, type InlineOptions, inline } from '../../../src/inline/index.ts'
import { type KeyStore, memoryKeys, postgresKeys, redisKeys } from '../../../src/keys/index.ts'
import { sendgrid, slack } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { startKeyedApp } from '../../support/idempotent-app.ts'
import { listening } from '../../support/listening-server.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { silent } from '../../support/receiver.ts'
import { startRedis } from '../../support/redis.ts'
import { signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/** Short enough to expire within a test, long enough for its steps. */
const LOCK_MS = 1_500
const PUBLIC_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ format: 'pem', type: 'spki' })
  .toString()
const EVENT = signed({ id: 'evt_1', type: 'count' })

async function redisUrl(): Promise<string> {
  const redis = await startRedis()
  onTestFinished(() => redis.remove())
  return redis.url
}

const stores: Record<string, () => Promise<KeyStore>> = {
  memory: async () => memoryKeys(),
  Redis: async () => redisKeys({ url: await redisUrl() }),
  PostgreSQL: async () => postgresKeys({ database: (await freshDatabase()).url }),
}

interface Receiver {
  readonly url: string
  readonly events: readonly string[]
  /** Through node:http. */
  send(init?: RequestInit): Promise<Response>
}

async function receiving(
  store: KeyStore,
  handler: InlineHandler,
  options: Partial<InlineOptions> & { source?: ReturnType<typeof testSource> } = {},
): Promise<Receiver> {
  const { source = testSource(), ...more } = options
  const events: string[] = []
  const hooks = inline(source, handler as InlineHandler<object>, {
    store,
    observe: ({ what }) => events.push(what),
    ...more,
  })
  onTestFinished(() => store.close())
  const url = `${await listening(createServer(hooks.node))}/webhooks/test`
  return { url, events, send: (init = EVENT) => fetch(url, init) }
}

describe.each(Object.entries(stores))('an inline receiver with its keys in %s', (_, open) => {
  test('an event that arrives three times is handled once, and every copy gets the first reply', async () => {
    const handled: unknown[] = []
    const { send } = await receiving(await open(), ({ key, type, payload, object, headers, body }) => {
      handled.push({
        key,
        type,
        payload,
        object,
        body: Buffer.from(body).toString(),
        sent: headers['test-signature'],
      })
      return Response.json({ at: Math.random() }, { status: 201, headers: { 'set-cookie': 'a=b' } })
    })
    const replies = [await send(), await send(), await send()]
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(await Promise.all(replies.map((reply) => reply.text()))).size).toBe(1)
    expect(replies.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true', 'true'])
    expect(replies.map(({ headers }) => headers.getSetCookie().length)).toEqual([1, 0, 0])
    const payload = { id: 'evt_1', type: 'count' }
    expect(handled).toMatchObject([
      {
        key: 'evt_1',
        type: 'count',
        payload,
        object: payload,
        body: EVENT.body,
        sent: EVENT.headers['test-signature'],
      },
    ])
  })

  test('a bad signature never touches the store', async () => {
    const store = await open()
    const refuse = (): never => {
      throw new Error('the store was asked')
    }
    const untouched = { ...store, acquire: refuse, read: refuse, settle: refuse, extend: refuse }
    const { send, events } = await receiving(untouched, () => undefined)
    const reply = await send({ ...EVENT, headers: { 'test-signature': '00'.repeat(32) } })
    expect([reply.status, await reply.json(), events]).toEqual([401, { error: 'SIGNATURE_MISMATCH' }, []])
    expect((await send({ method: 'GET' })).status).toBe(405)
    expect((await send(signed('not json'))).status).toBe(400)
  })

  test('a copy that arrives while the first is handled gets 409, or 202 if configured', async () => {
    let finish: () => void = () => undefined
    const store = await open()
    const hang = (): Promise<void> =>
      new Promise((resolve) => {
        finish = resolve
      })
    for (const [inProgress, status, told] of [
      ['refuse', 409, { error: 'KEY_IN_PROGRESS' }],
      ['accept', 202, { status: 'in progress' }],
    ] as const) {
      const event = signed({ id: inProgress, type: 'count' })
      const { send, events } = await receiving({ ...store, close: async () => undefined }, hang, {
        inProgress,
      })
      finish = () => undefined
      const idle = finish
      const first = send(event)
      await until('the first is handled', () => finish !== idle)
      const second = await send(event)
      expect([second.status, await second.json()]).toEqual([status, told])
      expect(second.headers.has('retry-after')).toBe(inProgress === 'refuse')
      finish()
      expect(await (await first).json()).toEqual({ status: 'processed' })
      expect(await (await send(event)).json()).toEqual({ status: 'processed' })
      expect(events).toEqual(['locked', 'ran', 'replayed'])
    }
    await store.close()
  })

  test('a failed handler runs again, without its finished steps; a handler that must not be repeated does not', async () => {
    const store = await open()
    let charged = 0
    let runs = 0
    const failing: InlineHandler = async (_event, { step }) => {
      runs++
      await step('charge', () => ++charged)
      if (runs === 1) throw new Error('the network is down')
    }
    const again = await receiving({ ...store, close: async () => undefined }, failing)
    const statuses = [(await again.send()).status, (await again.send()).status, (await again.send()).status]
    expect([statuses, runs, charged]).toEqual([[500, 200, 200], 2, 1])
    expect(again.events).toEqual(['failed', 'ran', 'replayed'])

    runs = 0
    const strict = await receiving(store, failing, { handler: 'opaque', name: 'strict' })
    expect((await strict.send()).status).toBe(500)
    const second = await strict.send()
    expect([second.status, await second.json(), runs]).toEqual([409, { error: 'OUTCOME_UNKNOWN' }, 1])
  })

  test('another body under the same key: the first stays, or it is refused if the source is configured so', async () => {
    const other = signed({ id: 'evt_1', type: 'count', more: 1 })
    const store = await open()
    const lax = await receiving({ ...store, close: async () => undefined }, () => undefined)
    expect([(await lax.send()).status, (await lax.send(other)).status]).toEqual([200, 200])
    expect(lax.events).toEqual(['ran', 'replayed'])
    const source = testSource({ mismatch: 'reject' })
    const strict = await receiving(store, () => undefined, { source, name: 'strict' })
    expect([(await strict.send()).status, (await strict.send(other)).status]).toEqual([200, 409])
  })

  test('unwanted types are not handled, and two names do not collide', async () => {
    let runs = 0
    const store = await open()
    const { send } = await receiving(store, () => void runs++, { types: ['invoice.*'] })
    expect(await (await send()).json()).toEqual({ status: 'ignored' })
    // An unparseable delivery cannot be called unwanted, and there is no ledger to record it in.
    const odd = await send(signed('{"hello":"world"}'))
    expect([odd.status, await odd.json()]).toEqual([400, { error: 'EVENT_KEY_MISSING' }])
    const wanted = signed({ id: 'evt_1', type: 'invoice.paid' })
    await send(wanted)
    const other = inline(testSource(), () => void runs++, { store, name: 'other' })
    await other.fetch(new Request('https://shop.test/', wanted))
    expect(runs).toBe(2)
  })
})

const shared: Record<string, (db: TestDatabase) => Promise<object>> = {
  Redis: async (db) => ({ database: db.url, redis: await redisUrl() }),
  PostgreSQL: async (db) => ({ database: db.url }),
}

describe.each(Object.entries(shared))('an inline receiver in two processes, keys in %s', (_, configOf) => {
  const start = async (config: object, more: Partial<InlineOptions>) =>
    Promise.all([1, 2].map(() => startKeyedApp({ ...config, inline: more }, 'inline-app.mjs')))

  test('of 100 concurrent copies one is handled', async () => {
    const db = await freshDatabase()
    const apps = await start(await configOf(db), { waitMs: 30_000 })
    const replies = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => (await fetch(`${apps[n % 2]?.url}/in`, EVENT)).text()),
    )
    expect(new Set(replies).size).toBe(1)
    expect(await db.number('select count(*) from run')).toBe(1)
  })

  test('killed inside its handler: the next copy takes over when the lock has expired, without the finished step', async () => {
    const db = await freshDatabase()
    const [first, second] = await start(await configOf(db), { lockMs: LOCK_MS })
    const event = signed({ id: 'evt_2', type: 'hang' })
    const lost = fetch(`${first?.url}/in`, event).catch(() => 'lost')
    await first?.says('hanging')
    expect((await fetch(`${second?.url}/in`, event)).status).toBe(409)
    first?.kill('SIGKILL')
    expect(await lost).toBe('lost')
    const reply = await until('the lock runs out', async () => {
      const reply = await fetch(`${second?.url}/in`, event)
      return reply.status === 200 && reply.json()
    })
    expect(reply).toEqual({ first: first?.pid })
    expect(await db.number('select count(*) from effect')).toBe(1)
    expect(await db.number('select count(*) from run')).toBe(2)
    await second?.says('taken_over')
  })
})

test('a store that is down is answered 503, and nothing is handled', async () => {
  const down = { ...memoryKeys(), acquire: () => Promise.reject(new Error('connection refused')) }
  let runs = 0
  const { send, events } = await receiving(down, () => void runs++)
  const reply = await send()
  expect([reply.status, reply.headers.get('retry-after'), runs, events]).toEqual([
    503,
    '5',
    0,
    ['store_down'],
  ])
})

test('hooks.inline() needs no store: its keys are in the database of the ledger, next to sources with workers', async () => {
  const db = await freshDatabase()
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    logger: silent,
    sources: { test: testSource(), other: testSource() },
  })
  let runs = 0
  const receive = hooks.inline('test', () => {
    runs++
    return Response.json({ runs })
  })
  hooks.on('other', '*', () => undefined)
  const send = async () => {
    const reply = await receive.fetch(new Request('https://shop.test/in', EVENT))
    return [reply.status, await reply.json()]
  }
  expect([await send(), await send()]).toEqual(Array(2).fill([200, { runs: 1 }]))
  expect(await db.rows('select state from hookonce_key')).toHaveLength(1)
  expect((await hooks.fetch(new Request('https://shop.test/in/other', EVENT))).status).toBe(202)
  expect(await hooks.metrics()).toContain('hookonce_duplicate_total{source="test"} 1')
  expect(() => hooks.inline('test', () => undefined, { lockMs: -1 })).toThrow(
    /CONFIG_INVALID: .inline\('test'\).*lockMs/,
  )
  await hooks.stop()
})

test('a handshake is answered and leaves nothing; a source of batches is refused when it is mounted', async () => {
  const handled: string[] = []
  const store = memoryKeys()
  const source = slack({ secret: 'secret' })
  const hooks = inline(source, (event) => void handled.push(event.key), { store })
  const body = JSON.stringify({ type: 'url_verification', challenge: 'abc123' })
  const asked = { method: 'POST', body, headers: source.sign({ body }) }
  const answer = await hooks.fetch(new Request('http://app.test/', asked))
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('abc123')
  expect((await hooks.fetch(new Request('http://app.test/'))).status).toBe(405)
  expect(handled).toEqual([])
  expect(() => inline(sendgrid({ secret: PUBLIC_KEY }), () => undefined, { store })).toThrow(
    /several events in one request/,
  )
})

describe('limits on unsigned requests', () => {
  const post = (...more: string[]) => ['POST /in HTTP/1.1', 'host: x', ...more, '', ''].join('\r\n')
  const CHUNK = `384\r\n${'x'.repeat(900)}\r\n`

  test('a body that stalls is answered 408 and cut off, and its bytes are released', async () => {
    const { url, send } = await receiving(memoryKeys(), () => undefined, {
      bodyTimeoutMs: 200,
      maxHeldBytes: 1_000,
    })
    const client = await rawConnection(url)
    client.write(post('transfer-encoding: chunked'))
    client.write(CHUNK)
    expect(await client.closed()).toMatch(/^HTTP\/1.1 408 .*connection: close.*"BODY_STALLED"/is)
    // If the 900 bytes were still held, this would be refused.
    expect((await send(signed({ id: 'evt_1', type: 'a', padding: 'x'.repeat(500) }))).status).toBe(200)
  })

  test('above the limit of held bytes the answer is 503, for announced and unannounced bodies', async () => {
    const { url, send } = await receiving(memoryKeys(), () => undefined, { maxHeldBytes: 1_000 })
    const first = await rawConnection(url)
    first.write(post('transfer-encoding: chunked'))
    first.write(CHUNK)
    const large = signed({ id: 'evt_1', type: 'a', padding: 'x'.repeat(500) })
    const refused = await until('the first is held', async () => {
      const reply = await send(large)
      return reply.status === 503 ? reply : undefined
    })
    expect([refused.headers.get('retry-after'), await refused.json()]).toEqual(['5', { error: 'OVERLOADED' }])
    const second = await rawConnection(url)
    second.write(post('transfer-encoding: chunked'))
    second.write(CHUNK)
    expect(await second.closed()).toMatch(/^HTTP\/1.1 503 .*retry-after: 5.*"OVERLOADED"/is)
    first.socket.destroy()
    await until('what the first held is let go', async () => (await send(large)).status === 200)
  })

  test('bytes are held until the handler has ended', async () => {
    let finish: () => void = () => undefined
    const handling = new Promise<void>((resolve) => {
      finish = resolve
    })
    let runs = 0
    const hold = (): Promise<void> => {
      runs++
      return handling
    }
    const { send } = await receiving(memoryKeys(), hold, { maxHeldBytes: 1_000 })
    const large = (id: string) => signed({ id, type: 'a', padding: 'x'.repeat(600) })
    const first = send(large('evt_1'))
    await until('the first is handled', () => runs === 1)
    expect((await send(large('evt_2'))).status).toBe(503)
    finish()
    expect((await first).status).toBe(200)
    expect((await send(large('evt_2'))).status).toBe(200)
  })

  test('the same holds for requests of the fetch standard', async () => {
    const hooks = inline(testSource(), () => undefined, {
      store: memoryKeys(),
      bodyTimeoutMs: 100,
      maxHeldBytes: 1_000,
      maxBodyBytes: 2_000,
    })
    const ask = async (body: ReadableStream<Uint8Array>) => {
      const request = new Request('http://app.test/', { method: 'POST', body, duplex: 'half' } as RequestInit)
      const { status, headers } = await hooks.fetch(request)
      return [status, headers.get('retry-after')]
    }
    const sending = (bytes: number, ends = false) =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new Uint8Array(bytes))
          if (ends) controller.close()
        },
      })
    expect(await ask(sending(900))).toEqual([408, null])
    expect(await ask(sending(1_500))).toEqual([503, '5'])
    expect(await ask(sending(2_500))).toEqual([413, null])
    expect(await ask(sending(900, true))).toEqual([401, null])
  })
})
