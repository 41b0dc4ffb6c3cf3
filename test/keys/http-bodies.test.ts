import { createServer } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fastifyKeys } from '../../src/keys/http/adapters/fastify.ts'
import { fetchKeys, memoryKeys, nodeKeys } from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { listening } from '../support/listening-server.ts'
import { type RawConnection, rawConnection } from '../support/raw-http.ts'
import { until } from '../support/until.ts'

/*
 * Anyone can send a body, so it is read only for a request that may be run, and only within a
 * common limit.
 */

const KEY = 'a1b2'

/**
 * Sends the headers of a request whose body of 5 MiB never ends, and the beginning of that body.
 */
async function stalledRequest(url: string, headers: readonly string[], begun = ''): Promise<RawConnection> {
  const client = await rawConnection(url)
  const head = ['POST /orders HTTP/1.1', 'host: x', 'content-type: text/plain', 'content-length: 5242880']
  client.write([...head, ...headers, '', begun].join('\r\n'))
  return client
}

/** The first line of the answer. It arrives although the body never ends. */
function statusLine(client: RawConnection): Promise<string> {
  return new Promise((resolve) =>
    client.socket.once('data', (chunk) => resolve(String(chunk).split('\r\n', 1)[0] ?? '')),
  )
}

describe('before the body of a request is read', () => {
  test('its key is checked', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    for (const headers of [[], ['idempotency-key: "half'], ['idempotency-key: a', 'idempotency-key: b']]) {
      const client = await stalledRequest(server.url, headers)
      expect(await statusLine(client)).toBe('HTTP/1.1 400 Bad Request')
    }
    expect(server.runs()).toBe(0)
  })

  test('its tenant is found', async () => {
    const server = await keyedServer((_request, response) => response.end('done'), {
      tenant: () => Promise.reject(new Error('who are you?')),
    })
    const client = await stalledRequest(server.url, [`idempotency-key: ${KEY}`])
    expect(await statusLine(client)).toBe('HTTP/1.1 500 Internal Server Error')
    expect(server.runs()).toBe(0)
  })

  test('a pledge of another key is refused', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    const client = await stalledRequest(server.url, [`idempotency-key: ${KEY}`, 'idempotency-pledge: other'])
    expect(await statusLine(client)).toBe('HTTP/1.1 410 Gone')
  })

  test('the same holds for handlers of the fetch standard', async () => {
    let read = 0
    const keys = fetchKeys({ store: memoryKeys(), tenant: () => '' })
    const handle = keys(() => new Response('done'))
    const send = (headers: Record<string, string>) => {
      const body = ReadableStream.from(
        (async function* () {
          read++
          yield Buffer.from('{}')
        })(),
      )
      return handle(new Request('https://shop.test/', { method: 'POST', headers, body, duplex: 'half' }))
    }
    expect((await send({})).status).toBe(400)
    await expect(send({ 'idempotency-key': KEY })).rejects.toThrow('CONFIG_INVALID')
    // The stream itself requests one chunk before any code reads.
    expect(read).toBeLessThanOrEqual(2)
  })

  test('Fastify has its key checked, although it reads bodies before it knows who sent them', async () => {
    const app = Fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global' })
    app.addContentTypeParser('text/plain', { parseAs: 'string', bodyLimit: 1e7 }, async () => undefined)
    app.post('/orders', { bodyLimit: 1e7 }, () => 'done')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const client = await stalledRequest(url, [])
    expect(await statusLine(client)).toBe('HTTP/1.1 400 Bad Request')
  })
})

test('a request that needs no key and brings none reaches a fetch handler as it came', async () => {
  const keys = fetchKeys({ store: memoryKeys(), tenant: 'global', required: 'off', maxBodyBytes: 1 })
  const handle = keys(async (request) => new Response(await request.text()))
  const reply = await handle(new Request('https://shop.test/', { method: 'POST', body: 'hello' }))
  expect(await reply.text()).toBe('hello')
})

describe('all bodies that are held', () => {
  const held = 'x'.repeat(1_000)

  test('share a limit: over it a request is refused, and afterwards the next one runs', async () => {
    const server = await keyedServer((_request, response) => response.end('done'), { maxHeldBytes: 2_500 })
    const clients: RawConnection[] = []
    for (const key of ['one', 'two'])
      clients.push(await stalledRequest(server.url, [`idempotency-key: ${key}`], held))
    const refused = await until('a refusal', async () => {
      const reply = await server.post('three', held)
      return reply.status === 503 ? reply : undefined
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await refused.json()).toMatchObject({ type: 'urn:hookonce:problem:overloaded' })
    const runs = server.runs()
    for (const { socket } of clients) socket.destroy()
    await until('room again', async () => (await server.post('four', held)).status === 200)
    expect(server.runs()).toBe(runs + 1)
  })

  test('count together for all routes over one store, until their handlers have ended', async () => {
    const store = memoryKeys()
    let finish: (() => void) | undefined
    const slow = nodeKeys({ store, tenant: 'global' })(async (_request, response) => {
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      response.end('slow')
    })
    const other = nodeKeys({ store, tenant: 'global', maxHeldBytes: 1_500 })((_request, response) =>
      response.end('other'),
    )
    const url = await listening(
      createServer((request, response) => (request.url === '/slow' ? slow : other)(request, response)),
    )
    const post = (path: string, key: string) =>
      fetch(`${url}${path}`, { method: 'POST', body: held, headers: { 'idempotency-key': key } })
    const first = post('/slow', 'one')
    const end = await until('the slow handler', () => finish)
    expect((await post('/other', 'two')).status).toBe(503)
    end()
    expect(await (await first).text()).toBe('slow')
    expect((await post('/other', 'two')).status).toBe(200)
  })

  test('of Fastify count too, also those that another hook hands on', async () => {
    const app = Fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    app.addHook('preParsing', async (request, _reply, payload) =>
      request.headers['x-wrapped'] === undefined
        ? payload
        : Readable.from(payload as AsyncIterable<Uint8Array>),
    )
    await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global', maxHeldBytes: 1_500 })
    let finish: (() => void) | undefined
    app.post('/orders', async (request) => {
      if (request.headers['x-slow'] === undefined) return 'done'
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      return 'slow'
    })
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/orders`
    const post = (key: string, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        body: held,
        headers: { 'content-type': 'text/plain', 'idempotency-key': key, ...headers },
      })
    const first = post('one', { 'x-slow': 'yes' })
    const end = await until('the slow handler', () => finish)
    for (const headers of [{}, { 'x-wrapped': 'yes' }])
      expect((await post('two', headers as Record<string, string>)).status).toBe(503)
    end()
    expect(await (await first).text()).toBe('slow')
    await until('room again', async () => (await post('two')).status === 200)
  })
})

test('a stream that another hook of Fastify hands on has a deadline and a limit too', async () => {
  const app = Fastify({ forceCloseConnections: true })
  onTestFinished(() => app.close())
  const sent: Record<string, () => Readable> = {
    stalls: () => new PassThrough(),
    large: () => Readable.from([Buffer.alloc(60), Buffer.alloc(60)]),
    fails: () =>
      new Readable({
        read() {
          this.destroy(Object.assign(new Error('not gzip'), { statusCode: 400 }))
        },
      }),
  }
  app.addHook('preParsing', async (request) => sent[String(request.headers['x-sent'])]?.())
  const limits = { bodyTimeoutMs: 100, maxBodyBytes: 100 }
  await app.register(fastifyKeys, { store: memoryKeys(), tenant: 'global', ...limits })
  app.post('/orders', async () => 'done')
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/orders`
  const post = async (kind: string) => {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': kind, 'x-sent': kind }
    return (await fetch(url, { method: 'POST', body: 'text', headers })).status
  }
  expect([await post('stalls'), await post('large'), await post('fails')]).toEqual([408, 413, 400])
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['ASCII', Buffer.from('{"done":true}')],
  ['a text that is not ASCII', Buffer.from('Grüße 😀')],
  ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
  ['more ASCII than fits into one write with the head', Buffer.alloc(20_000, 'x')],
])('a reply of %s arrives byte for byte, first and replayed', async (_, body) => {
  const server = await keyedServer((_request, response) => response.end(body))
  for (const replayed of [null, 'true']) {
    const reply = await server.post(KEY)
    expect(reply.headers.get('idempotent-replayed')).toBe(replayed)
    expect(reply.headers.get('content-length')).toBe(String(body.length))
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(body)
  }
})
