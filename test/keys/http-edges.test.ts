import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { problem } from '../../src/keys/http/problem.ts'
import {
  fetchKeys,
  type KeyRecord,
  keyId,
  memoryKeys,
  type NodeHandler,
  nodeKeys,
  type Seal,
  sealedKeys,
} from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'
import { listening } from '../support/listening-server.ts'
import { rawConnection } from '../support/raw-http.ts'

const KEY = 'a1b2'

describe('a deploy that changes what a request is compared by', () => {
  const store = memoryKeys()
  const before = { json: 'bytes' } as const
  const after = { json: 'canonical' as const, fields: ['n'], headers: ['api-version'] }

  test('recognises the keys from before it, and distinguishes other requests from them', async () => {
    const old = await keyedServer((_request, response) => response.end('old'), { store, fingerprint: before })
    await old.post(KEY, '{"n":1}')
    const fresh = await keyedServer((_request, response) => response.end('new'), {
      store,
      fingerprint: { ...after, previous: [before] },
    })
    expect(await (await fresh.post(KEY, '{"n":1}')).text()).toBe('old')
    expect((await fresh.post(KEY, '{"n":2}')).status).toBe(422)
    expect(fresh.runs()).toBe(0)
  })

  test('uses the new comparison for new keys', async () => {
    const fresh = await keyedServer((_request, response) => response.end('new'), {
      store,
      fingerprint: { ...after, previous: [before] },
    })
    await fresh.post('other', '{"n":1,"at":1}')
    const again = await fresh.post('other', '{ "at": 2, "n": 1 }')
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const version = await fresh.post('other', '{"n":1}', { headers: { 'api-version': '2' } })
    expect([version.status, fresh.runs()]).toEqual([422, 1])
  })

  test('that does not name the earlier comparison refuses the keys from before it', async () => {
    const fresh = await keyedServer((_request, response) => response.end('new'), {
      store,
      fingerprint: after,
    })
    expect((await fresh.post(KEY, '{"n":1}')).status).toBe(422)
  })
})

test('with encryption, the store holds nothing that can be read, and the reply comes back as it was', async () => {
  const secret = randomBytes(32)
  const seal: Seal = {
    seal(bytes, id) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(id))
      const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
    },
    open(bytes, id) {
      const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, 12))
      decipher.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
    },
  }
  const store = memoryKeys()
  const server = await keyedServer((_request, response) => response.end('4242 4242 4242 4242'), {
    store: sealedKeys(store, seal),
  })
  await server.post(KEY)
  const record: KeyRecord | undefined = await store.read(keyId('global', KEY))
  expect(record?.state).toBe('completed')
  expect(Buffer.from(record?.result ?? []).includes('4242')).toBe(false)
  expect(await (await server.post(KEY)).text()).toBe('4242 4242 4242 4242')
  expect(server.runs()).toBe(1)
})

test('headers that the app exposes to scripts stay exposed', async () => {
  const server = await keyedServer((_request, response) => {
    response.setHeader('access-control-expose-headers', 'X-Total')
    response.end('done')
  })
  const first = await server.post(KEY)
  expect(first.headers.get('access-control-expose-headers')).toBe(
    'X-Total, Idempotency-Key, Idempotent-Replayed',
  )
  const refused = await server.post(KEY, 'other')
  expect(refused.headers.get('access-control-expose-headers')).toBe('Idempotency-Key, Idempotent-Replayed')
})

test('a store that is too slow: 503 and nothing runs, or it runs unprotected and is counted', async () => {
  const slow = { ...memoryKeys(), acquire: () => new Promise<never>(() => undefined) }
  const closed = await keyedServer((_request, response) => response.end('done'), {
    store: slow,
    storeTimeoutMs: 50,
  })
  const refusal = await closed.post(KEY)
  expect([refusal.status, await refusal.json(), closed.runs()]).toMatchObject([
    503,
    { type: 'urn:hookonce:problem:store-down' },
    0,
  ])
  expect(closed.events).toMatchObject([{ what: 'store_down', ran: false }])
  const open = await keyedServer((_request, response) => response.end('done'), {
    store: slow,
    storeTimeoutMs: 50,
    onStoreDown: 'run',
  })
  expect([(await open.post(KEY)).status, open.runs()]).toEqual([200, 1])
  expect(open.events).toMatchObject([{ what: 'store_down', ran: true }])
})

describe('store5xx, as the first version of the API of Stripe has it', () => {
  test('what a handler throws is kept as the 500 it is answered with', async () => {
    const server = await keyedServer(
      () => {
        throw new Error('secret detail')
      },
      { store5xx: 'on' },
    )
    const replies = [await server.post(KEY), await server.post(KEY)]
    const bodies = await Promise.all(replies.map((reply) => reply.text()))
    expect(replies.map(({ status }) => status)).toEqual([500, 500])
    expect(bodies[1]).toBe(bodies[0])
    expect(bodies[0]).not.toContain('secret')
    expect(replies[1]?.headers.get('idempotent-replayed')).toBe('true')
    expect(server.events.map(({ what }) => what)).toEqual(['failed', 'ran', 'replayed'])
    expect(server.runs()).toBe(1)
  })

  test.each([500, 502, 503, 504])('%i is kept', async (status) => {
    const server = await keyedServer((_request, response) => response.writeHead(status).end('sorry'), {
      store5xx: 'on',
    })
    await server.post(KEY)
    const second = await server.post(KEY)
    expect([second.status, second.headers.get('idempotent-replayed'), server.runs()]).toEqual([
      status,
      'true',
      1,
    ])
  })

  test('handlers of the fetch standard too', async () => {
    let runs = 0
    const handle = fetchKeys({ store: memoryKeys(), tenant: 'global', store5xx: 'on' })(() => {
      runs++
      throw new Error('boom')
    })
    const post = () =>
      handle(new Request('https://shop.test/', { method: 'POST', headers: { 'idempotency-key': KEY } }))
    expect([(await post()).status, (await post()).status, runs]).toEqual([500, 500, 1])
  })
})

test('keys within keys: the answer of the inner ones reaches the client, in the first reply and in a replay', async () => {
  const inner = nodeKeys({ store: memoryKeys(), tenant: 'global' })
  let handled = 0
  const handler = inner((_request, response) => {
    handled += 1
    response.writeHead(201, { 'x-order': '7' })
    response.write('or')
    response.end('der')
  })
  const server = await keyedServer((request, response) => handler(request, response), {
    tenant: () => 'outer',
  })
  for (const replayed of [null, 'true']) {
    const reply = await server.post(KEY, '{}')
    expect([reply.status, await reply.text()]).toEqual([201, 'order'])
    expect(reply.headers.get('idempotent-replayed')).toBe(replayed)
  }
  expect(handled).toBe(1)
})

test('headers that a handler had set are not sent with a refusal', async () => {
  const store = memoryKeys()
  const server = await keyedServer(
    async (_request, response) => {
      response.setHeader('x-secret', 'of the handler')
      const record = await store.read(keyId('global', KEY))
      await store.settle(keyId('global', KEY), record?.fence ?? 0, { to: 'released', ttlMs: 60_000 })
      await store.acquire(keyId('global', KEY), {
        fingerprint: record?.fingerprint ?? '',
        holder: 'another',
        lockMs: 60_000,
        ttlMs: 60_000,
        onCrash: 'takeover',
      })
      response.end('mine')
    },
    { store },
  )
  const reply = await server.post(KEY, '{}')
  expect([reply.status, reply.headers.get('x-secret')]).toEqual([503, null])
})

describe('a body', () => {
  test('of no bytes in chunks reaches the handler as such', async () => {
    const server = await keyedServer((request, response) => {
      let size = 0
      request.on('data', (chunk: Buffer) => {
        size += chunk.length
      })
      request.on('end', () => response.end(`${size} bytes`))
    })
    const send = () =>
      new Promise<string>((resolve, reject) => {
        const headers = { 'idempotency-key': KEY, 'transfer-encoding': 'chunked' }
        const sent = httpRequest(server.url, { method: 'POST', headers }, (reply) => resolve(text(reply)))
        sent.on('error', reject).end()
      })
    expect(await send()).toBe('0 bytes')
    expect(await send()).toBe('0 bytes')
    expect(server.runs()).toBe(1)
  })

  /** The result of some body parsers for a request of another content type. */
  const looksParsed: NodeHandler = (request, response) => {
    Object.assign(request, { body: {} })
    response.end('done')
  }

  test('that a parser has skipped is still compared', async () => {
    const keys = nodeKeys({ store: memoryKeys(), tenant: 'global' })(looksParsed)
    const server = await plainServer((request, response) => {
      Object.assign(request, { body: {} })
      return keys(request, response)
    })
    const post = (body: string) =>
      fetch(server, {
        method: 'POST',
        body,
        headers: { 'idempotency-key': KEY, 'content-type': 'text/plain' },
      })
    expect((await post('pay 1')).status).toBe(200)
    expect((await post('pay 1000000')).status).toBe(422)
  })

  test('whose files were put elsewhere before it came here is refused: its fields do not say that it is the same', async () => {
    const keys = nodeKeys({ store: memoryKeys(), tenant: 'global' })((_request, response) => response.end())
    const server = await plainServer(async (request, response) => {
      await text(request)
      Object.assign(request, { body: { field: 'x' } })
      return keys(request, response)
    })
    const form = new FormData()
    form.set('field', 'x')
    form.set('file', new Blob(['AAA']), 'a.txt')
    const reply = await fetch(server, { method: 'POST', body: form, headers: { 'idempotency-key': KEY } })
    expect(reply.status).toBe(400)
  })
})

describe('a head', () => {
  test('is added to by those who wait for it inside the keys', async () => {
    const server = await keyedServer((_request, response) => {
      const { writeHead } = response
      response.writeHead = (...args: unknown[]) => {
        response.setHeader('x-late', 'yes')
        return Reflect.apply(writeHead, response, args)
      }
      response.end('done')
    })
    expect((await server.post(KEY)).headers.get('x-late')).toBe('yes')
  })

  test('is not written twice: an error page does not follow the beginning of a reply', async () => {
    const server = await keyedServer((_request, response) => {
      response.write('partial')
      response.writeHead(500).end('oops')
    })
    expect((await server.post(KEY)).status).toBe(500)
    expect(await (await server.post(KEY)).json()).toMatchObject({
      type: 'urn:hookonce:problem:outcome-unknown',
    })
  })

  test('may promise trailers', async () => {
    const server = await keyedServer((_request, response) => {
      response.writeHead(200, { trailer: 'x-sum' })
      response.write('hello')
      response.addTrailers({ 'x-sum': 'abc' })
      response.end()
    })
    for (const _ of [1, 2]) {
      const reply = await server.post(KEY)
      expect([reply.status, await reply.text()]).toEqual([200, 'hello'])
    }
  })
})

async function plainServer(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  return `${await listening(server)}/orders`
}

test('a body that stalls is answered 408 and cut off, and its key is free', async () => {
  const server = await keyedServer((_request, response) => response.end('done'), { bodyTimeoutMs: 100 })
  const client = await rawConnection(server.url)
  const head = ['POST /orders HTTP/1.1', 'host: x', `idempotency-key: ${KEY}`, 'content-length: 7']
  client.write([...head, '', '{"n"'].join('\r\n'))
  const answer = await client.closed()
  expect(answer).toMatch(/^HTTP\/1.1 408 .*urn:hookonce:problem:body-stalled/s)
  expect(answer).toMatch(/\r\nidempotency-key: a1b2\r\n/i)
  expect([(await server.post(KEY)).status, server.runs()]).toEqual([200, 1])
})

describe('refusals are written for the caller of the API', () => {
  const detailOf = async (reply: Response) => ((await reply.json()) as { detail: string }).detail
  const OF_OPERATORS = /KEY_|BODY_|RESULT_|LOCK_|max[A-Z]|limits\.|provider|the record|lockMs|event loop/

  test('a key that is too long gets the limit, without an internal code', async () => {
    const server = await keyedServer((_request, response) => response.end('done'))
    const reply = await server.post('x'.repeat(300))
    expect(reply.headers.has('idempotency-key')).toBe(false)
    expect(await detailOf(reply)).toBe(
      'the Idempotency-Key is invalid: it has 300 characters; the maximum is 255',
    )
  })

  test('a body that is too large gets the limit, and the answer repeats a valid key', async () => {
    const server = await keyedServer((_request, response) => response.end('done'), { maxBodyBytes: 10 })
    const refused = await server.post(KEY, 'x'.repeat(11))
    expect([refused.status, refused.headers.get('idempotency-key')]).toEqual([413, KEY])
    expect(refused.headers.get('access-control-expose-headers')).toContain('Idempotency-Key')
    expect(await detailOf(refused)).toBe('the body has more than 10 bytes')
    const malformed = await server.post('"half', 'x'.repeat(11))
    // The key is checked before the body is read.
    expect([malformed.status, malformed.headers.has('idempotency-key')]).toEqual([400, false])
  })

  test('a handler that throws: its 500 repeats the key', async () => {
    const server = await keyedServer(() => {
      throw new Error('boom')
    })
    const reply = await server.post(KEY)
    expect([reply.status, reply.headers.get('idempotency-key')]).toEqual([500, KEY])
  })

  test.each([
    'KEY_MISSING',
    'KEY_REUSED',
    'KEY_IN_PROGRESS',
    'OUTCOME_UNKNOWN',
    'RESULT_NOT_STORED',
    'LOCK_LOST',
    'KEY_STORE_DOWN',
    'PLEDGE_GONE',
  ] as const)('%s contains nothing that only its operator understands', (code) => {
    const { body } = problem(code, { base: 'urn:' })
    const { detail } = JSON.parse(String(body)) as { detail: string }
    expect(detail.length).toBeGreaterThan(20)
    expect(detail).not.toMatch(OF_OPERATORS)
  })
})

test.each([
  ['a handler that throws', 'the handler broke', () => 'ann'],
  ['a tenant that cannot be found', 'no such user', () => Promise.reject(new Error('no such user'))],
])('%s is printed where nothing observes it', async (_, says, tenant) => {
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  const keys = nodeKeys({ store: memoryKeys(), tenant })
  const url = await listening(
    createServer(
      keys(() => {
        throw new Error('the handler broke')
      }),
    ),
  )

  const response = await fetch(url, {
    method: 'POST',
    headers: { 'idempotency-key': randomBytes(8).toString('hex') },
  })

  expect(response.status).toBe(500)
  expect((await warned).message).toContain(says)
})
