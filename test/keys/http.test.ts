import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { fetchKeys, memoryKeys } from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { until } from '../support/until.ts'

const KEY = 'a1b2'
const bytes = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

describe('replay', () => {
  test('the first reply comes again byte for byte, and the handler runs once', async () => {
    const server = await keyedServer(async (request, response) => {
      const order = JSON.parse(await text(request))
      response.writeHead(201, { 'content-type': 'application/json', location: '/orders/7' })
      response.end(JSON.stringify({ order, at: Math.random() }))
    })
    const first = await server.post(KEY)
    const second = await server.post(KEY)
    expect(await bytes(second)).toEqual(await bytes(first))
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.headers.get('location')).toBe('/orders/7')
    expect(first.headers.has('idempotent-replayed')).toBe(false)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('idempotency-key')).toBe(KEY)
    expect(second.headers.get('access-control-expose-headers')).toBe('Idempotency-Key, Idempotent-Replayed')
    expect(server.runs()).toBe(1)
  })

  test('a quoted key and a bare one are the same key', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    await server.post('"a1b2"')
    expect((await server.post('a1b2')).headers.get('idempotent-replayed')).toBe('true')
    expect(server.runs()).toBe(1)
  })

  test('cookies, dates and lengths of the first reply are not replayed', async () => {
    const server = await keyedServer((_request, response) => {
      response.setHeader('set-cookie', ['session=secret', 'theme=dark'])
      response.setHeader('x-trace', 'first')
      response.end('done')
    })
    const first = await server.post(KEY)
    const second = await server.post(KEY)
    expect(first.headers.getSetCookie()).toEqual(['session=secret', 'theme=dark'])
    expect(second.headers.getSetCookie()).toEqual([])
    expect(second.headers.has('x-trace')).toBe(false)
  })

  test('a replay has the headers for browsers and caches of the first reply', async () => {
    const headers = {
      'content-type': 'text/html',
      'content-disposition': 'attachment; filename="order.html"',
      'content-security-policy': "default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    }
    const server = await keyedServer((_request, response) => {
      response.writeHead(200, headers).end('<script>alert(1)</script>')
    })
    await server.post(KEY)
    const replayed = Object.fromEntries((await server.post(KEY)).headers)
    expect(replayed).toMatchObject({ ...headers, 'idempotent-replayed': 'true' })
  })

  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['256 KiB', Buffer.alloc(256 * 1024, 7)],
  ])('a reply of %s is kept', async (_, body) => {
    const server = await keyedServer((_request, response) => response.end(body))
    expect(await bytes(await server.post(KEY))).toEqual(body)
    const second = await server.post(KEY)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await bytes(second)).toEqual(body)
  })

  test('a reply that is streamed in pieces is kept whole', async () => {
    const server = await keyedServer(async (_request, response) => {
      for (const piece of ['one ', 'two ', 'three']) response.write(piece)
      response.end()
    })
    expect(await (await server.post(KEY)).text()).toBe('one two three')
    expect(await (await server.post(KEY)).text()).toBe('one two three')
  })

  test('events are sent as they come, and only the fact that they were sent is stored', async () => {
    let finish: () => void = () => undefined
    const server = await keyedServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      finish = () => response.end('data: 2\n\n')
    })
    const first = await server.post(KEY)
    const reader = first.body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n')
    finish()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 2\n\n')
    expect((await server.post(KEY)).status).toBe(409)
  })

  test('a reply that its handler compressed is replayed as it was before', async () => {
    const server = await keyedServer((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync('hello'))
    })
    expect(await (await server.post(KEY)).text()).toBe('hello')
    const second = await server.post(KEY)
    expect(second.headers.has('content-encoding')).toBe(false)
    expect(await second.text()).toBe('hello')
  })
})

describe('refusals', () => {
  test('a missing key is 400 where it is required, and runs unprotected where it is not', async () => {
    const strict = await keyedServer((_request, response) => response.end('done'))
    const refusal = await strict.post(undefined)
    expect(refusal.status).toBe(400)
    expect(refusal.headers.get('content-type')).toBe('application/problem+json')
    expect(await refusal.json()).toMatchObject({ type: 'urn:hookonce:problem:key-missing', status: 400 })
    const lax = await keyedServer((_request, response) => response.end('done'), { required: 'off' })
    await lax.post(undefined)
    await lax.post(undefined)
    expect([strict.runs(), lax.runs()]).toEqual([0, 2])
  })

  test('a header that came twice is 400', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.end(
      'POST /orders HTTP/1.1\r\nhost: x\r\nidempotency-key: a\r\nidempotency-key: a\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
    )
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /)
    expect(server.runs()).toBe(0)
  })

  test('other methods are ignored', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    await server.post(KEY, undefined, { method: 'PUT' })
    await server.post(KEY, undefined, { method: 'PUT' })
    expect(server.runs()).toBe(2)
  })

  test('another body with the same key is 422, while in flight and afterwards', async () => {
    let finish: () => void = () => undefined
    const server = await keyedServer((_request, response) => {
      finish = () => response.end('done')
    })
    const first = server.post(KEY, '{"n":1}')
    await until('the handler runs', () => server.runs() === 1)
    expect((await server.post(KEY, '{"n":2}')).status).toBe(422)
    finish()
    await first
    expect((await server.post(KEY, '{"n":2}')).status).toBe(422)
    expect(server.runs()).toBe(1)
  })

  test('the same key on another route is 422', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    await server.post(KEY)
    const other = await fetch(`${server.url}/cancel`, {
      method: 'POST',
      body: '{"n":1}',
      headers: { 'idempotency-key': KEY, 'content-type': 'application/json' },
    })
    expect(other.status).toBe(422)
  })

  test('keys of two tenants do not collide', async () => {
    const server = await keyedServer((request, response) => response.end(request.headers['x-tenant']), {
      tenant: (request) => String(request.headers['x-tenant']),
    })
    const asked = async (tenant: string) =>
      (await server.post(KEY, '{"n":1}', { headers: { 'x-tenant': tenant } })).text()
    expect([await asked('one'), await asked('two'), await asked('one')]).toEqual(['one', 'two', 'one'])
    expect(server.runs()).toBe(2)
  })

  test('a request in progress is 409 with Retry-After, or 202 with Location on a route that has one', async () => {
    const hang = await keyedServer(() => undefined)
    void hang.post(KEY).catch(() => undefined)
    await until('the handler runs', () => hang.runs() === 1)
    const second = await hang.post(KEY)
    expect(second.status).toBe(409)
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await second.json()).toMatchObject({ type: 'urn:hookonce:problem:in-progress' })

    const declared = await keyedServer(() => undefined, { progress: () => '/orders/progress/7' })
    void declared.post(KEY).catch(() => undefined)
    await until('the handler runs', () => declared.runs() === 1)
    const told = await declared.post(KEY)
    expect([told.status, told.headers.get('location')]).toEqual([202, '/orders/progress/7'])
  })

  test('a waiting request gets the reply of the first', async () => {
    let finish: () => void = () => undefined
    const server = await keyedServer(
      (_request, response) => {
        finish = () => response.end('done')
      },
      { waitMs: 30_000 },
    )
    const first = server.post(KEY)
    await until('the handler runs', () => server.runs() === 1)
    const second = server.post(KEY)
    finish()
    expect(await (await second).text()).toBe('done')
    await first
    expect(server.runs()).toBe(1)
  })
})

describe('outcomes that complete, and outcomes that release', () => {
  test.each([200, 204, 302, 400, 404, 409, 422])('%i is kept', async (status) => {
    const server = await keyedServer((_request, response) => response.writeHead(status).end())
    const init = { redirect: 'manual' } as const
    await server.post(KEY, '1', init)
    expect((await server.post(KEY, '1', init)).status).toBe(status)
    expect(server.runs()).toBe(1)
  })

  test.each([401, 403, 408, 425, 429, 502, 503, 504])('%i lets the next one run', async (status) => {
    const server = await keyedServer((_request, response) => response.writeHead(status).end())
    await server.post(KEY)
    expect((await server.post(KEY)).status).toBe(status)
    expect(server.runs()).toBe(2)
  })

  test('a failure of unknown outcome is 409 outcome-unknown, without Retry-After', async () => {
    const server = await keyedServer(() => {
      throw new Error('somewhere in the middle')
    })
    expect((await server.post(KEY)).status).toBe(500)
    const second = await server.post(KEY)
    expect([second.status, second.headers.get('retry-after')]).toEqual([409, null])
    expect(await second.json()).toMatchObject({ type: 'urn:hookonce:problem:outcome-unknown' })
    expect(server.runs()).toBe(1)
  })

  test('a failure before any declared step lets the next request run; after one, no request runs', async () => {
    const before = await keyedServer((_request, response) => response.writeHead(500).end(), {
      handler: 'declared',
    })
    await before.post(KEY)
    await before.post(KEY)
    expect(before.runs()).toBe(2)
    const after = await keyedServer(
      async (_request, response, { step }) => {
        await step('charge', () => 'ch_1')
        response.writeHead(503).end()
      },
      { handler: 'declared' },
    )
    await after.post(KEY)
    expect((await after.post(KEY)).status).toBe(409)
    expect(after.runs()).toBe(1)
  })

  test('a resumable handler continues after its finished steps', async () => {
    let charged = 0
    const server = await keyedServer(
      async (_request, response, { step }) => {
        const charge = await step('charge', () => `ch_${++charged}`)
        if (server.runs() === 1) throw new Error('the network is down')
        response.end(charge)
      },
      { handler: 'resumable' },
    )
    expect((await server.post(KEY)).status).toBe(500)
    expect(await (await server.post(KEY)).text()).toBe('ch_1')
    expect([server.runs(), charged]).toEqual([2, 1])
  })

  test('failures are stored too if configured', async () => {
    const server = await keyedServer((_request, response) => response.writeHead(500).end('sorry'), {
      store5xx: 'on',
    })
    await server.post(KEY)
    expect((await server.post(KEY)).headers.get('idempotent-replayed')).toBe('true')
    expect(server.runs()).toBe(1)
  })
})

test('a client that hangs up does not stop the handler, and its retry gets the reply', async () => {
  let finish: () => void = () => undefined
  const server = await keyedServer((_request, response) => {
    finish = () => response.end('done')
  })
  const abort = new AbortController()
  const first = server.post(KEY, '1', { signal: abort.signal })
  await until('the handler runs', () => server.runs() === 1)
  abort.abort()
  await expect(first).rejects.toThrow()
  finish()
  await until('the reply is kept', () => server.events.some(({ what }) => what === 'ran'))
  expect(await (await server.post(KEY, '1')).text()).toBe('done')
  expect(server.runs()).toBe(1)
})

test('a reply is stored before it is sent', async () => {
  const store = memoryKeys()
  let persist: () => void = () => undefined
  const asked = new Promise<void>((resolve) => {
    persist = resolve
  })
  const order: string[] = []
  const server = await keyedServer((_request, response) => response.end('done'), {
    store: {
      ...store,
      async settle(...args) {
        await asked
        order.push('kept')
        return store.settle(...args)
      },
    },
  })
  const first = server.post(KEY).then(() => order.push('sent'))
  await until('the handler ran', () => server.runs() === 1)
  persist()
  await first
  expect(order).toEqual(['kept', 'sent'])
})

describe('a store that fails', () => {
  const down = { ...memoryKeys(), acquire: () => Promise.reject(new Error('connection refused')) }

  test('requests are refused with 503, or run unprotected and counted if configured', async () => {
    const closed = await keyedServer((_request, response) => response.end('done'), { store: down })
    const refusal = await closed.post(KEY)
    expect([refusal.status, refusal.headers.get('retry-after'), closed.runs()]).toEqual([503, '5', 0])
    const open = await keyedServer((_request, response) => response.end('done'), {
      store: down,
      onStoreDown: 'run',
    })
    expect([(await open.post(KEY)).status, open.runs()]).toEqual([200, 1])
    expect(open.events).toMatchObject([{ what: 'store_down', ran: true }])
  })

  test('a reply that cannot be stored is still sent, and counted', async () => {
    const store = memoryKeys()
    const server = await keyedServer((_request, response) => response.end('done'), {
      store: { ...store, settle: () => Promise.reject(new Error('disk full')) },
    })
    expect((await server.post(KEY)).status).toBe(200)
    expect(server.events).toMatchObject([{ what: 'not_persisted' }])
    expect((await server.post(KEY)).status).toBe(409)
  })
})

test('handlers in the shape of the fetch standard', async () => {
  let runs = 0
  const handle = fetchKeys({ store: memoryKeys(), tenant: 'global' })(async (request) => {
    runs++
    return Response.json({ got: await request.json() }, { status: 201, headers: { 'set-cookie': 'a=b' } })
  })
  const post = () =>
    handle(
      new Request('https://shop.test/orders?x=1', {
        method: 'POST',
        body: '{"n":1}',
        headers: { 'idempotency-key': KEY },
      }),
    )
  const first = await post()
  const second = await post()
  expect(await second.text()).toBe(await first.text())
  expect(first.headers.getSetCookie()).toEqual(['a=b'])
  expect(second.headers.getSetCookie()).toEqual([])
  expect([second.status, second.headers.get('idempotent-replayed'), runs]).toEqual([201, 'true', 1])
})
