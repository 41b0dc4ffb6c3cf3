import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type Capture, capture } from './capture.ts'
import type { CapturedRequest } from './ring.ts'

/** A server that captures every request. */
async function capturing(): Promise<{
  readonly url: string
  readonly port: number
  readonly kept: Capture
  next(): Promise<CapturedRequest>
}> {
  const waiting: ((request: CapturedRequest) => void)[] = []
  const arrived: CapturedRequest[] = []
  const kept = capture((request) => {
    const one = waiting.shift()
    if (one) one(request)
    else arrived.push(request)
  })
  const server = createServer((request, response) => kept.take(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    kept,
    next: async () => arrived.shift() ?? new Promise((resolve) => waiting.push(resolve)),
  }
}

test('a request is kept unchanged, with a guess at its sender and the configuration', async () => {
  const { url, kept, next } = await capturing()
  const body = '{"n":12345678901234567890}'
  const response = await fetch(`${url}/in/hub?a=1`, {
    method: 'POST',
    headers: { 'X-GitHub-Delivery': 'd-1', 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': 'sha256=0' },
    body,
  })
  expect(response.status).toBe(404)
  expect(await response.json()).toEqual({ error: 'SOURCE_UNKNOWN', captured: true })

  const captured = await next()
  expect(captured).toMatchObject({ method: 'POST', url: '/in/hub?a=1', isCut: false })
  expect(captured.body.toString()).toBe(body)
  expect(captured.headers).toContainEqual(['X-GitHub-Delivery', 'd-1'])
  expect(captured.looksLike[0]).toBe('github')
  expect(captured.advice).toBe(
    'add "hub": { "provider": "github", "secret": "env:GITHUB_WEBHOOK_SECRET" } to the sources',
  )
  expect(kept.requests.find(captured.id)).toBe(captured)
})

test('an unknown sender gets a configuration too', async () => {
  const { url, next } = await capturing()
  await fetch(`${url}/in/acme`, { method: 'POST', body: 'hello' })
  expect(await next()).toMatchObject({
    looksLike: [],
    advice: expect.stringContaining('"provider": "custom"'),
  })
})

test('a large body is truncated, and the sender still gets its answer', async () => {
  const { url, next } = await capturing()
  const response = await fetch(`${url}/in/x`, { method: 'POST', body: Buffer.alloc(3_000_000, 'a') })
  expect(response.status).toBe(404)
  const { body, isCut } = await next()
  expect([body.length, isCut]).toEqual([256 * 1024, true])
})

test('the newest requests are kept, within a number and a size', async () => {
  const { url, kept, next } = await capturing()
  for (let index = 0; index < 105; index += 1) {
    await fetch(`${url}/in/${index}`, { method: 'POST' })
    await next()
  }
  expect(kept.requests.list()).toHaveLength(100)
  expect(kept.requests.list()[0]?.url).toBe('/in/104')

  for (let index = 0; index < 70; index += 1) {
    await fetch(`${url}/in/large`, { method: 'POST', body: Buffer.alloc(256 * 1024) })
    await next()
  }
  const bytes = kept.requests.list().reduce((sum, { body }) => sum + body.length, 0)
  expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024)
  expect(kept.requests.list().length).toBeGreaterThan(60)
  kept.requests.clear()
  expect(kept.requests.list()).toEqual([])
})

test('a sender that disconnects is not kept, and others are still read', async () => {
  const { url, port, kept, next } = await capturing()
  for (let index = 0; index < 30; index += 1) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write('POST /in/x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf')
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  expect((await fetch(`${url}/in/y`, { method: 'POST' })).status).toBe(404)
  expect((await next()).url).toBe('/in/y')
  expect(kept.requests.list()).toHaveLength(1)
})
