import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type KeyEvent, memoryKeys } from '../../src/keys/index.ts'
import { startExpress } from '../support/frameworks/express.ts'
import { startFastify } from '../support/frameworks/fastify.ts'
import { type Behaviour, Refused, type Setup } from '../support/frameworks/framework.ts'
import { startHono } from '../support/frameworks/hono.ts'
import { startKoa } from '../support/frameworks/koa.ts'
import { startNestOnExpress, startNestOnFastify } from '../support/frameworks/nestjs.ts'
import { until } from '../support/until.ts'

/* Every framework passes the same tests, over real HTTP. */
const frameworks = {
  Express: startExpress,
  Koa: startKoa,
  Fastify: startFastify,
  Hono: startHono,
  'NestJS on Express': startNestOnExpress,
  'NestJS on Fastify': startNestOnFastify,
}

/** Each framework reads the body in its own way here. */
const PARSES_BEFORE = new Set(['NestJS on Express', 'NestJS on Fastify', 'Fastify'])

interface Served {
  readonly runs: () => number
  readonly events: readonly KeyEvent[]
  /** The server has noticed that its clients disconnected. */
  abandoned(): Promise<unknown>
  post(body?: object, init?: RequestInit): Promise<Response>
}

const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

describe.each(Object.entries(frameworks))('%s', (name, start) => {
  async function served(behaviour: Behaviour, setup: Partial<Setup> = {}): Promise<Served> {
    let runs = 0
    const events: KeyEvent[] = []
    const app = await start({
      compression: 'off',
      parser: 'after',
      ...setup,
      keys: { store: memoryKeys(), tenant: 'global', ...setup.keys, observe: (event) => events.push(event) },
      behaviour(asked) {
        runs++
        return behaviour(asked)
      },
    })
    onTestFinished(async () => void (await app.close()))
    let closed = 0
    app.server.on('connection', (socket) => socket.once('close', () => closed++))
    return {
      runs: () => runs,
      events,
      abandoned: () => until('the server has noticed that its client is gone', () => closed > 0),
      post: (body = { n: 1 }, init = {}) =>
        fetch(`${app.url}/api/orders`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
          ...init,
        }),
    }
  }

  const order: Behaviour = ({ body }) => ({
    status: 201,
    headers: { location: '/orders/7', 'set-cookie': 'session=secret', 'x-trace': 'first' },
    body: { got: body, at: Math.random(), text: 'é'.repeat(2_000) },
  })

  for (const parser of PARSES_BEFORE.has(name) ? (['after'] as const) : (['before', 'after'] as const)) {
    for (const compression of ['off', 'on'] as const) {
      test(`first reply and replay, body parser ${parser} the keys, compression ${compression}`, async () => {
        const app = await served(order, { parser, compression })
        const first = await app.post()
        const second = await app.post()
        expect([first.status, second.status, app.runs()]).toEqual([201, 201, 1])
        const body = await bytesOf(first)
        expect(JSON.parse(body.toString())).toMatchObject({ got: { n: 1 } })
        expect(await bytesOf(second)).toEqual(body)
        expect(first.headers.get('content-encoding')).toBe(compression === 'on' ? 'gzip' : null)
        expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
        expect(second.headers.get('location')).toBe('/orders/7')
        expect(second.headers.get('idempotent-replayed')).toBe('true')
        expect([first, second].map((reply) => reply.headers.get('idempotency-key'))).toEqual(['one', 'one'])
        expect([first, second].map((reply) => reply.headers.getSetCookie())).toEqual([['session=secret'], []])
        expect(second.headers.has('x-trace')).toBe(false)
        const other = await app.post({ n: 2 })
        expect([other.status, other.headers.get('content-type')]).toEqual([422, 'application/problem+json'])
        expect(await other.json()).toMatchObject({ type: 'urn:hookonce:problem:key-reused' })
        expect(app.runs()).toBe(1)
      })
    }
  }

  test('of ten concurrent requests with one key one runs, the others are refused, and get its reply afterwards', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const app = await served(async () => {
      await gate
      return { body: { done: true } }
    })
    const first = app.post()
    await until('the first runs', () => app.runs() === 1)
    const others = await Promise.all(Array.from({ length: 9 }, () => app.post()))
    expect(others.map(({ status }) => status)).toEqual(Array(9).fill(409))
    expect(others.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true)
    finish()
    expect(await (await first).json()).toEqual({ done: true })
    expect(await (await app.post()).json()).toEqual({ done: true })
    expect(app.runs()).toBe(1)
  })

  test('a handler that throws is answered by the error handler of the app, and its outcome is unknown', async () => {
    const app = await served(() => {
      throw new Error('boom')
    })
    const first = await app.post()
    expect([first.status, await first.json()]).toEqual([500, { error: 'boom' }])
    const second = await app.post()
    expect([second.status, await second.json()]).toMatchObject([
      409,
      { type: 'urn:hookonce:problem:outcome-unknown' },
    ])
    expect(app.runs()).toBe(1)
  })

  test('a thrown refusal is stored as the error handler sent it', async () => {
    const app = await served(() => {
      throw new Refused(404, 'no such customer')
    })
    const replies = [await app.post(), await app.post()]
    expect(replies.map(({ status }) => status)).toEqual([404, 404])
    expect(await Promise.all(replies.map((reply) => reply.json()))).toEqual(
      Array(2).fill({ error: 'no such customer' }),
    )
    expect(replies[1]?.headers.get('idempotent-replayed')).toBe('true')
    expect(app.runs()).toBe(1)
  })

  test('a key that is missing or malformed never reaches the handler', async () => {
    const app = await served(order)
    const json = { 'content-type': 'application/json' }
    expect((await app.post({}, { headers: json })).status).toBe(400)
    expect((await app.post({}, { headers: { ...json, 'idempotency-key': '"half' } })).status).toBe(400)
    expect(app.runs()).toBe(0)
  })

  // NestJS has read the body by then, with its own limit.
  if (!name.startsWith('NestJS'))
    test('a body that is too large is refused, with its key', async () => {
      const keys = { store: memoryKeys(), tenant: 'global', maxBodyBytes: 100 } as const
      const app = await served(order, { keys: { ...keys, observe: () => undefined } })
      const reply = await app.post({ text: 'x'.repeat(1_000) })
      expect([reply.status, reply.headers.get('idempotency-key'), app.runs()]).toEqual([413, 'one', 0])
      expect(await reply.json()).toMatchObject({ type: 'urn:hookonce:problem:body-too-large' })
    })

  test('a tenant that cannot be determined is answered by the error handler of the app', async () => {
    const tenant = (): string => {
      throw new Refused(403, 'who are you?')
    }
    const app = await served(order, { keys: { store: memoryKeys(), tenant, observe: () => undefined } })
    const reply = await app.post()
    expect([reply.status, await reply.json(), app.runs()]).toEqual([403, { error: 'who are you?' }, 0])
  })

  test.each(['off', 'on'] as const)('a streamed reply is kept whole, compression %s', async (compression) => {
    const app = await served(
      () => ({
        headers: { 'content-type': 'text/plain' },
        body: Readable.from(['one ', 'two ', 'three'].map((word) => Buffer.from(word))),
      }),
      { compression },
    )
    expect(await (await app.post()).text()).toBe('one two three')
    const second = await app.post()
    expect([await second.text(), second.headers.get('idempotent-replayed')]).toEqual([
      'one two three',
      'true',
    ])
    expect(app.runs()).toBe(1)
  })

  test.each(['off', 'on'] as const)(
    'replies of 0 bytes and of 10 MB, compression %s',
    async (compression) => {
      const headers = { 'content-type': 'text/plain' }
      const nothing = await served(() => ({ headers, body: Buffer.alloc(0) }), { compression })
      const empty = [await nothing.post(), await nothing.post()]
      expect(await Promise.all(empty.map(async (reply) => (await bytesOf(reply)).length))).toEqual([0, 0])
      expect([empty[1]?.status, nothing.runs()]).toEqual([200, 1])

      const much = Buffer.alloc(10_000_000, 'x')
      const large = await served(() => ({ headers, body: much }), { compression })
      expect((await bytesOf(await large.post())).equals(much)).toBe(true)
      const second = await large.post()
      expect([second.status, await second.json()]).toMatchObject([
        409,
        { type: 'urn:hookonce:problem:body-not-stored' },
      ])
      expect(large.runs()).toBe(1)
    },
  )

  test.each(['off', 'on'] as const)(
    'a long stream arrives whole and in order, compression %s',
    async (compression) => {
      const pieces = Array.from({ length: 60 }, (_, n) => Buffer.alloc(50_000, String(n % 10)))
      const app = await served(
        () => ({ headers: { 'content-type': 'text/plain' }, body: Readable.from(pieces) }),
        { compression },
      )
      expect((await bytesOf(await app.post())).equals(Buffer.concat(pieces))).toBe(true)
      expect((await app.post()).status).toBe(409)
      expect(app.runs()).toBe(1)
    },
  )

  test.each([
    { kind: 'JSON', make: () => ({ done: true }) },
    { kind: 'a stream', make: () => Readable.from([Buffer.from('{"done":'), Buffer.from('true}')]) },
  ])(
    'a client that hangs up before the handler answers with $kind: the retry gets the reply',
    async ({ make }) => {
      let finish: () => void = () => undefined
      const gate = new Promise<void>((resolve) => {
        finish = resolve
      })
      const app = await served(async () => {
        await gate
        return { status: 201, headers: { 'content-type': 'application/json' }, body: make() }
      })
      const abort = new AbortController()
      const first = app.post({ n: 1 }, { signal: abort.signal })
      await until('the first runs', () => app.runs() === 1)
      abort.abort()
      await expect(first).rejects.toThrow()
      await app.abandoned()
      finish()
      await until('the reply is kept', () => app.events.some(({ what }) => what === 'ran'))
      const retry = await app.post()
      expect([retry.status, await retry.json(), app.runs()]).toEqual([201, { done: true }, 1])
    },
  )

  test('a client disconnects during a long reply: the completion is still recorded', async () => {
    let made = 0
    async function* long(): AsyncGenerator<Buffer> {
      for (; made < 200; made++) yield Buffer.alloc(100_000, 'x')
    }
    const app = await served(() => ({
      headers: { 'content-type': 'text/plain', location: '/orders/7' },
      body: Readable.from(long()),
    }))
    const abort = new AbortController()
    const first = await app.post({ n: 1 }, { signal: abort.signal })
    await first.body?.getReader().read()
    abort.abort()
    await app.abandoned()
    // Koa destroys the response that it was sending.
    if (name !== 'Koa') await until('the whole of it was made', () => made === 200)
    const retry = await app.post()
    expect([retry.status, retry.headers.get('location'), app.runs()]).toEqual([409, '/orders/7', 1])
    expect(await retry.json()).toMatchObject({ type: 'urn:hookonce:problem:body-not-stored' })
  })

  test('steps are replayed to a resumable handler that failed', async () => {
    let charged = 0
    const app = await served(
      async ({ context }) => {
        const charge = await context.step('charge', () => ++charged)
        if (app.runs() === 1) throw new Error('the network is down')
        return { body: { charge } }
      },
      { keys: { store: memoryKeys(), tenant: 'global', handler: 'resumable', observe: () => undefined } },
    )
    expect((await app.post()).status).toBe(500)
    expect(await (await app.post()).json()).toEqual({ charge: 1 })
    expect([app.runs(), charged]).toEqual([2, 1])
  })

  test('options are checked when the app is made', async () => {
    const keys = { store: memoryKeys(), tenant: 'global', requierd: 'off', observe: () => undefined } as const
    await expect(served(order, { keys })).rejects.toThrow(/CONFIG_INVALID.*requierd/)
  })
})
