import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { gatewayHooks } from '../../../src/gateway/hooks.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { destination, FORWARD_SECRET, forwarding, inState, jobs } from '../../support/forwarding.ts'
import { listening } from '../../support/listening-server.ts'
import { silent } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'
import { tcpDestination } from '../../support/tcp-destination.ts'
import { until } from '../../support/until.ts'

/* The outcome of a job after each answer of a destination, including faulty answers. */

test('410 pauses the destination with a notice; its jobs wait, and a resume sends them', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 410 })
  const notices: unknown[] = []
  const logger = { ...silent, warn: (fields: object, text: string) => void notices.push({ ...fields, text }) }
  const { post, hooks } = await forwarding(db, url, { options: { logger } })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'retrying')
  await post(signed({ id: 'evt_2', type: 'a' }))
  expect(await db.rows('select state, attempt from hookonce.job order by born_at')).toEqual([
    { state: 'retrying', attempt: 0 },
    { state: 'received', attempt: 0 },
  ])
  expect(got).toHaveLength(1)

  const env = { DATABASE_URL: db.url }
  const why = `${url.replace('?app=1', '')} answered 410 Gone`
  expect(notices).toMatchObject([
    { source: 'test', destination: 'app', detail: expect.stringContaining(why) },
  ])
  expect((await cli(['status'], env)).stdout).toMatch(
    /test app has been paused since .* \(.* answered 410 Gone\)/,
  )
  expect((await cli(['subscribers'], env)).stdout).toContain('answered 410 Gone')
  expect(await db.rows('select actor, action, why, subject from hookonce.audit')).toEqual([
    { actor: 'hookonce', action: 'pause', why, subject: 'test app' },
  ])

  await hooks.resume('test', 'app')
  await inState(db, 'processed', 2)
  expect(got).toHaveLength(3)
})

test('410 pauses the destination for each of its sources, and no other destination', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 410 })
  const other = await destination()
  const common = { secret: FORWARD_SECRET, types: '*', allowPrivate: ['127.0.0.1'] }
  const hooks = gatewayHooks(
    {
      sources: { test: testSource(), second: testSource() },
      destinations: [
        { ...common, name: 'gone', url },
        { ...common, name: 'other', url: other.url },
      ],
    },
    { database: db.url, logger: silent, pollMs: 20 },
  )
  await hooks.start()
  try {
    await hooks.fetch(new Request('http://app.test/in/test', signed({ id: 'evt_1', type: 'a' })))
    await inState(db, 'retrying')
    await hooks.fetch(new Request('http://app.test/in/second', signed({ id: 'evt_1', type: 'a' })))
    await inState(db, 'processed', 2)
    expect(other.got).toHaveLength(2)
    expect(got).toHaveLength(1)
    expect(
      await db.rows('select source, name from hookonce.subscriber where paused_at is not null order by 1'),
    ).toEqual([
      { source: 'second', name: 'gone' },
      { source: 'test', name: 'gone' },
    ])
  } finally {
    await hooks.stop({ drainMs: 0 })
  }
})

test('410 of a URL that a transform chose is a failure of this job only', async () => {
  const db = await freshDatabase()
  const { url } = await destination()
  const gone = await destination({ status: 410 })
  const { post } = await forwarding(db, url, {
    transform: () => ({ url: gone.url }),
    retry: { maxAttempts: 1 },
  })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect((await jobs(db))[0]?.reason).toContain('answered 410 Gone')
  expect(await db.number('select count(*) from hookonce.subscriber where paused_at is not null')).toBe(0)
})

test('a redirect fails with its target and the information that it is not followed', async () => {
  const db = await freshDatabase()
  const { url } = await destination({ status: 301, headers: { location: 'https://new.example/hooks' } })
  const { post } = await forwarding(db, url, { retry: { maxAttempts: 1 } })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect((await jobs(db))[0]?.reason).toContain(
    'answered 301: a redirect to https://new.example/hooks. Redirects are not followed',
  )
})

test('retries follow the schedule of the destination, then the job fails', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 500 }, { status: 500 }, { status: 500 })
  const { post } = await forwarding(db, url, { retry: { scheduleMs: [10, 20] } })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect(got).toHaveLength(3)
  expect(await jobs(db)).toMatchObject([{ reason: expect.stringContaining('gave up after 3 attempts') }])
})

const HUGE = Buffer.alloc(1024 * 1024, 'x')

/** Keeps sending while the connection accepts data. */
function flood(socket: Socket): void {
  socket.on('drain', () => flood(socket))
  while (socket.writable && socket.write(HUGE));
}

const BAD: readonly { name: string; says: string; answer: (socket: Socket) => void }[] = [
  { name: 'accepts and never answers', says: 'did not answer within 300 ms', answer: () => undefined },
  { name: 'resets', says: 'could not be reached', answer: (socket) => socket.resetAndDestroy() },
  { name: 'closes without an answer', says: 'socket hang up', answer: (socket) => socket.end() },
  { name: 'answers no HTTP', says: 'Parse Error', answer: (socket) => socket.end('220 smtp ready\r\n') },
  {
    name: 'stops within its head',
    says: 'did not answer within 300 ms',
    answer: (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: '),
  },
  {
    name: 'sends a head without end',
    says: 'Header overflow',
    answer: (socket) => socket.write(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}`),
  },
  {
    name: 'sends 100 Continue without end',
    says: 'did not answer within 300 ms',
    answer(socket) {
      const more = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 5)
      socket.on('close', () => clearInterval(more))
    },
  },
  {
    name: 'wants another protocol',
    says: 'could not be reached',
    answer: (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  },
  {
    name: 'fails with a body without end',
    says: 'answered 500: xxx',
    answer(socket) {
      socket.write('HTTP/1.1 500 No\r\n\r\n')
      flood(socket)
    },
  },
  {
    name: 'fails with a body that never comes',
    says: 'answered 503',
    answer: (socket) => socket.write('HTTP/1.1 503 No\r\ncontent-length: 10\r\n\r\n'),
  },
  {
    name: 'quotes control characters and half a character',
    says: 'answered 500',
    answer: (socket) => socket.end('HTTP/1.1 500 No\r\n\r\na\0b\x1b[2J\xff'),
  },
]

test.each(BAD)('a destination that $name costs one attempt, and its connection', async ({ says, answer }) => {
  const db = await freshDatabase()
  const { url, open } = await tcpDestination(answer)
  // Only destinations that never answer need a short timeout.
  const timeoutMs = says.includes('300 ms') ? 300 : 20_000
  const { post } = await forwarding(db, url, { timeoutMs, retry: { maxAttempts: 1 } })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect((await jobs(db))[0]?.reason).toContain(says)
  await until('the connection is closed', () => open() === 0)
})

test.each([
  { name: 'without end', rest: flood },
  { name: 'that never comes', rest: () => undefined },
  { name: 'that breaks off', rest: (socket: Socket) => socket.resetAndDestroy() },
])('a 2xx with a body $name completes the job', async ({ rest }) => {
  const db = await freshDatabase()
  const { url, open } = await tcpDestination((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n', () => rest(socket))
  })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  await until('the connection is closed', () => open() === 0)
})

test('connections are kept alive, reused and bounded', async () => {
  const db = await freshDatabase()
  let inFlight = 0
  let most = 0
  let connections = 0
  const server = createServer((request, response) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    request.resume().on('end', () =>
      setTimeout(() => {
        inFlight -= 1
        response.end('ok')
      }, 20),
    )
  })
  server.on('connection', () => {
    connections += 1
  })
  const { post } = await forwarding(db, await listening(server), { maxConnections: 2 })
  await Promise.all(Array.from({ length: 12 }, (_, n) => post(signed({ id: `evt_${n}`, type: 'a' }))))
  await inState(db, 'processed', 12)
  expect(most).toBeLessThanOrEqual(2)
  // Two connections, unless this machine pauses for longer than an idle connection is kept.
  expect(connections).toBeLessThan(6)
})

test('a kept connection that the server has closed meanwhile costs no attempt', async () => {
  const db = await freshDatabase()
  let requests = 0
  // Answers the first request of a connection and resets at the second, as after an idle timeout.
  const { url, connections } = await tcpDestination((socket) => {
    requests += 1
    socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    socket.once('data', () => socket.resetAndDestroy())
  })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  await post(signed({ id: 'evt_2', type: 'a' }))
  await inState(db, 'processed', 2)
  expect(await db.rows('select distinct state, attempt from hookonce.job')).toEqual([
    { state: 'processed', attempt: 1 },
  ])
  expect([connections(), requests]).toEqual([2, 2])
})

test('a destination that hangs uses up its own connections only', async () => {
  const db = await freshDatabase()
  const { url: hanging, connections } = await tcpDestination(() => undefined)
  const { url, got } = await destination()
  const common = { secret: FORWARD_SECRET, types: '*', allowPrivate: ['127.0.0.1'] }
  const hooks = gatewayHooks(
    {
      sources: { test: testSource() },
      destinations: [
        { ...common, name: 'hanging', url: hanging, maxConnections: 2, concurrency: 8 },
        { ...common, name: 'app', url },
      ],
    },
    { database: db.url, logger: silent, pollMs: 20 },
  )
  await hooks.start()
  try {
    for (let n = 0; n < 8; n += 1)
      await hooks.fetch(new Request('http://app.test/in/test', signed({ id: `evt_${n}`, type: 'a' })))
    await until('the other destination has everything', () => got.length === 8)
    await until('it has all the connections that it gets', () => connections() >= 2)
    expect(connections()).toBe(2)
  } finally {
    await hooks.stop({ drainMs: 0 })
  }
})
