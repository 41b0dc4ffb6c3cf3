import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { NodeHandler, Spill } from '../../src/keys/index.ts'
import { keyedServer } from '../support/idempotent-server.ts'

/* Replies that are larger than a record may be. */
const KEY = 'a1b2'
const bytes = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

test('a reply of 10 MB reaches the first; the others learn that it was not stored', async () => {
  const body = Buffer.alloc(10_000_000, 'x')
  const server = await keyedServer((_request, response) => {
    response.setHeader('location', '/orders/7')
    response.end(body)
  })
  expect((await bytes(await server.post(KEY))).equals(body)).toBe(true)
  const second = await server.post(KEY)
  expect(second.status).toBe(409)
  expect(second.headers.get('location')).toBe('/orders/7')
  expect(await second.json()).toMatchObject({ type: 'urn:hookonce:problem:body-not-stored' })
  expect(server.runs()).toBe(1)
})

test('a large reply that is useful without its body is replayed without it', async () => {
  const server = await keyedServer((_request, response) => {
    response.writeHead(201, { location: '/orders/7' }).end(Buffer.alloc(1_000_000))
  })
  await bytes(await server.post(KEY))
  const second = await server.post(KEY)
  expect([second.status, second.headers.get('location'), (await bytes(second)).length]).toEqual([
    201,
    '/orders/7',
    0,
  ])
})

test('a reply of 10 MB is stored in a place for large replies', async () => {
  const kept = new Map<string, Buffer>()
  const spill: Spill = {
    async put(body, { name }) {
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(chunk)
      kept.set(name, Buffer.concat(chunks))
      return name
    },
    get: async (name) => kept.get(name),
  }
  const body = Buffer.alloc(10_000_000, 'y')
  const server = await keyedServer((_request, response) => response.end(body), { spill })
  expect((await bytes(await server.post(KEY))).equals(body)).toBe(true)
  expect((await bytes(await server.post(KEY))).equals(body)).toBe(true)
  expect(server.runs()).toBe(1)
})

describe('a place for large replies that fails', () => {
  const get = async () => undefined
  const places: Record<string, Spill> = {
    'at once': { put: () => Promise.reject(new Error('no bucket')), get },
    'in the middle': {
      async put(body) {
        for await (const _ of body) throw new Error('reset by peer')
        return 'never'
      },
      get,
    },
    'while it waits for more': {
      async put(body) {
        const reader = body[Symbol.asyncIterator]()
        await reader.next()
        void reader.next()
        throw new Error('timed out')
      },
      get,
    },
    'to find what it took': {
      async put(body) {
        for await (const _ of body);
        return 'gone'
      },
      get,
    },
  }
  const PIECES = Array.from({ length: 5 }, (_, n) => Buffer.alloc(100_000, String(n)))
  const ways: Record<string, NodeHandler> = {
    bytes: (_request, response) => response.end(Buffer.concat(PIECES)),
    pieces: (_request, response) => void Readable.from(PIECES).pipe(response),
  }

  const cases = Object.keys(places).flatMap((when) => Object.keys(ways).map((way) => [when, way] as const))
  // Bytes need no check whether they can be found.
  test.each(cases.filter(([when, way]) => when !== 'to find what it took' || way !== 'bytes'))(
    '%s, for a reply in %s: it is sent whole, and has completed without a body',
    async (when, way) => {
      const handler = ways[way] ?? (() => undefined)
      const server = await keyedServer(handler, places[when] ? { spill: places[when] } : {})
      const first = await server.post(KEY)
      expect([first.status, (await bytes(first)).equals(Buffer.concat(PIECES))]).toEqual([200, true])
      expect(server.events.map(({ what }) => what)).toEqual(['not_persisted', 'ran'])
      const second = await server.post(KEY)
      expect([second.status, await second.json(), server.runs()]).toMatchObject([
        409,
        { type: 'urn:hookonce:problem:body-not-stored' },
        1,
      ])
    },
  )

  test('after more than is remembered: the reply breaks off, the handler writes to its end, and has completed', async () => {
    let written = 0
    async function* long(): AsyncGenerator<Buffer> {
      for (; written < 40; written++) yield Buffer.alloc(100_000, 'x')
    }
    const server = await keyedServer((_request, response) => void Readable.from(long()).pipe(response), {
      spill: {
        async put(body) {
          let size = 0
          for await (const chunk of body) {
            size += chunk.length
            if (size > 2_000_000) throw new Error('disk full')
          }
          return 'never'
        },
        get,
      },
    })
    await expect(server.post(KEY).then(bytes)).rejects.toThrow()
    expect(written).toBe(40)
    const second = await server.post(KEY)
    expect([second.status, await second.json()]).toMatchObject([
      409,
      { type: 'urn:hookonce:problem:body-not-stored' },
    ])
    expect(server.events.map(({ what }) => what)).toEqual(['not_persisted', 'ran', 'replayed'])
  })

  test('is not blamed for a reply that broke off before: its outcome is unknown', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield* PIECES
      throw new Error('the query was cancelled')
    }
    const spill: Spill = {
      async put(body) {
        for await (const _ of body);
        return 'never'
      },
      get,
    }
    const server = await keyedServer(
      (_request, response) =>
        void Readable.from(broken())
          .on('error', () => undefined)
          .pipe(response),
      { spill },
    )
    expect((await server.post(KEY)).status).toBe(500)
    expect(server.events.map(({ what }) => what)).toEqual(['failed'])
    const second = await server.post(KEY)
    expect(await second.json()).toMatchObject({ type: 'urn:hookonce:problem:outcome-unknown' })
  })
})
