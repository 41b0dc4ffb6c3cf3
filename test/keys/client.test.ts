import { createServer, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type KeyedFetchOptions, keyedFetch } from '../../src/keys/client/index.ts'
import { memoryKeys, type NodeHandler, nodeKeys } from '../../src/keys/index.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { listening } from '../support/listening-server.ts'
import { until } from '../support/until.ts'

/** Short delays, so that tests need not wait. */
const QUICK: KeyedFetchOptions = { baseDelayMs: 1 }

interface Asked {
  readonly key: string | undefined
  readonly body: string
}

/** A server that records its requests before `listener` answers. */
async function serving(listener: RequestListener): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    asked.push({ key: request.headers['idempotency-key'] as string, body: await text(request) })
    listener(Object.assign(request, { rawBody: Buffer.from(asked.at(-1)?.body ?? '') }), response)
  })
  return { url: `${await listening(server)}/orders`, asked }
}

/** A server with keys, whose connection breaks while the first replies are sent. */
async function flaky(handler: NodeHandler, lostReplies: number) {
  const keyed = nodeKeys({ store: memoryKeys(), tenant: 'global' })(handler)
  let lost = 0
  return serving((request, response) => {
    if (lost++ < lostReplies) {
      const { writeHead } = response
      Object.assign(response, {
        writeHead(...head: unknown[]) {
          request.socket.destroy()
          return Reflect.apply(writeHead, response, head)
        },
      })
    }
    void keyed(request, response)
  })
}

const answers = (...replies: [status: number, headers?: Record<string, string>][]): RequestListener => {
  let at = 0
  return (_request, response) => {
    const [status, headers = {}] = replies[Math.min(at++, replies.length - 1)] ?? [500]
    response.writeHead(status, headers).end(String(status))
  }
}

test('replies that are lost on the way: one effect, one key, the same bytes, and the reply of the first', async () => {
  let effects = 0
  const { url, asked } = await flaky((_request, response) => {
    response.writeHead(201).end(String(++effects))
  }, 2)
  const response = await keyedFetch(QUICK)(url, { method: 'POST', body: '{"n":1}' })
  expect([response.status, await response.text(), effects]).toEqual([201, '1', 1])
  expect(response.headers.get('idempotent-replayed')).toBe('true')
  expect(asked).toHaveLength(3)
  expect(new Set(asked.map(({ key }) => key)).size).toBe(1)
  expect(asked[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
  expect(asked.every(({ body }) => body === '{"n":1}')).toBe(true)
})

test('two requests have two keys, and a request with its own key keeps it', async () => {
  const { url, asked } = await serving(answers([200]))
  const send = keyedFetch(QUICK)
  await send(url, { method: 'POST' })
  await send(url, { method: 'POST' })
  await send(new Request(url, { method: 'POST', headers: { 'idempotency-key': 'mine' } }))
  expect(new Set(asked.map(({ key }) => key)).size).toBe(3)
  expect(asked[2]?.key).toBe('mine')
})

test('a stream is sent again unchanged', async () => {
  const { url, asked } = await serving(answers([503], [200]))
  const body = new Blob(['one ', 'two']).stream()
  await keyedFetch(QUICK)(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
  expect(asked.map(({ body }) => body)).toEqual(['one two', 'one two'])
})

test.each([408, 425, 429, 500, 502, 503, 504])('%i is tried again', async (status) => {
  const { url, asked } = await serving(answers([status], [200]))
  expect((await keyedFetch(QUICK)(url, { method: 'POST' })).status).toBe(200)
  expect(asked).toHaveLength(2)
})

test.each([200, 202, 400, 401, 404, 409, 422, 501])('%i ends it', async (status) => {
  const { url, asked } = await serving(answers([status], [200]))
  expect((await keyedFetch(QUICK)(url, { method: 'POST' })).status).toBe(status)
  expect(asked).toHaveLength(1)
})

test('a request in progress is repeated until it has ended, not before Retry-After', async () => {
  let finish: () => void = () => undefined
  const { url, asked } = await flaky((_request, response) => {
    finish = () => response.end('done')
  }, 0)
  const first = fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
  await until('the handler runs', () => asked.length === 1)
  const delays: number[] = []
  const send = keyedFetch({
    ...QUICK,
    onRetry({ key, status, delayMs }) {
      expect([key, status]).toEqual(['one', 409])
      delays.push(delayMs)
      finish()
    },
  })
  const second = await send(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
  expect([await second.text(), await (await first).text()]).toEqual(['done', 'done'])
  expect(delays).toHaveLength(1)
  expect(delays[0]).toBeGreaterThanOrEqual(1_000)
})

test('Retry-After may be a date; a date beyond the total time ends the retries', async () => {
  const delays: number[] = []
  const date = new Date(Date.now() + 3_600_000).toUTCString()
  const { url, asked } = await serving(answers([503, { 'retry-after': date }]))
  const send = keyedFetch({ ...QUICK, onRetry: ({ delayMs }) => delays.push(delayMs) })
  expect((await send(url, { method: 'POST' })).status).toBe(503)
  const past = new Date(0).toUTCString()
  const other = await serving(answers([503, { 'retry-after': past }], [200]))
  expect((await send(other.url, { method: 'POST' })).status).toBe(200)
  expect([asked.length, delays.length]).toEqual([1, 1])
})

test('retries end with the last response, or with the last error', async () => {
  const { url, asked } = await serving(answers([503]))
  expect((await keyedFetch({ ...QUICK, maxTries: 3 })(url, { method: 'POST' })).status).toBe(503)
  expect(asked).toHaveLength(3)
  const broken = await serving((request) => request.socket.destroy())
  await expect(keyedFetch({ ...QUICK, maxTries: 2 })(broken.url, { method: 'POST' })).rejects.toThrow(
    TypeError,
  )
  expect(broken.asked).toHaveLength(2)
})

test('a server that does not answer times out, and is tried again', async () => {
  // Node drops the signals of a Request that only the Request refers to.
  collectGarbage()
  let silent = true
  const { url, asked } = await serving((_request, response) => {
    if (!silent) response.end('done')
    silent = false
  })
  const response = await keyedFetch({ ...QUICK, tryTimeoutMs: 200 })(url, { method: 'POST' })
  expect(await response.text()).toBe('done')
  // Each answer must arrive within 200 ms, so a busy machine may retry more than once.
  expect(asked.length).toBeGreaterThan(1)
})

test('a request that the caller aborts is not retried', async () => {
  const abort = new AbortController()
  const { url, asked } = await serving(answers([503]))
  const send = keyedFetch({
    baseDelayMs: 60_000,
    maxDelayMs: 60_000,
    onRetry: () => abort.abort(new Error('enough')),
  })
  await expect(send(url, { method: 'POST', signal: abort.signal })).rejects.toThrow('enough')
  expect(asked).toHaveLength(1)
})

test('options are checked', () => {
  expect(() => keyedFetch({ maxTries: 0 })).toThrow(/CONFIG_INVALID.*maxTries/)
})
