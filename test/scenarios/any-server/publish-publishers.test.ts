import { createServer, type IncomingHttpHeaders } from 'node:http'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect as connectNats, headers as natsHeaders } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import { connect as connectOldNats, headers as oldNatsHeaders } from 'nats'
import { createClient } from 'redis'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import type { Message, Publish } from '../../../src/publishers/contract.ts'
import { toHttp, toJetStream, toRedisStream } from '../../../src/publishers/index.ts'
import { natsServer, redisServer } from '../../support/brokers.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { listening } from '../../support/listening-server.ts'
import { allPublished, commitMessages, newMessage, relayOn } from '../../support/outbox.ts'
import { until } from '../../support/until.ts'

const SECRET = `whsec_${Buffer.from('a secret that signs messages').toString('base64')}`

const message: Message = {
  id: '6f1c0000-0000-0000-0000-000000000001',
  topic: 'invoice.paid',
  key: 'in_1 é',
  payload: { a: 'é 🪝' },
  body: '{"a":"é 🪝"}',
  headers: { 'x-trace': 't' },
  tenant: 'default',
  receiptId: '6f1c0000-0000-0000-0000-000000000002',
  createdAt: new Date(0),
  attempt: 1,
}
const options = { signal: new AbortController().signal }

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function receiver(...statuses: number[]): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    got.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(statuses.shift() ?? 204).end('what it says')
  })
  return { url: `${await listening(server)}/in`, got }
}

test('by HTTP a message arrives signed, with its id as key, and is retried under the same id until a 2xx', async () => {
  const db = await freshDatabase()
  const { url, got } = await receiver(500, 302)
  const hooks = testHooks(db, {
    outbox: {
      publishers: { 'invoice.*': toHttp({ url, secret: SECRET }) },
      retry: { baseDelayMs: 1, maxDelayMs: 1 },
    },
  })
  hooks.on('test', '*', (_, ctx) => {
    const headers = { 'X-Trace': 't', 'Webhook-Id': 'mine', 'hookonce-topic': 'mine' }
    ctx.publish('invoice.paid', { a: 'é 🪝' }, { key: 'in_1 é', headers })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it is published', () =>
    db.number(`select count(*) from hookonce.outbox where state = 'published'`),
  )
  const [row] = await db.rows<{ id: string; attempts: number }>('select id, attempts from hookonce.outbox')
  expect(row?.attempts).toBe(3)
  expect(new Set(got.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([row?.id]))
  const last = got.at(-1)
  expect(last?.headers).toMatchObject({
    'idempotency-key': row?.id,
    'hookonce-topic': 'invoice.paid',
    'hookonce-key': encodeURIComponent('in_1 é'),
    'x-trace': 't',
    'content-type': 'application/json',
  })
  const verified = new Webhook(SECRET).verify(String(last?.body), last?.headers as Record<string, string>)
  expect(verified).toEqual({ a: 'é 🪝' })
})

test('the answer of a receiver is the reason of the failure', async () => {
  const { url } = await receiver(503, 503)
  const failing = toHttp({ url, secret: SECRET })(message, options)
  await expect(failing).rejects.toThrow(`PUBLISH_FAILED: ${url} answered 503: what it says`)
  // A token in the query must not get into errors, which are stored and logged.
  const withToken = toHttp({ url: `${url}?token=says`, secret: SECRET })(message, options)
  await expect(withToken).rejects.toThrow(`PUBLISH_FAILED: ${url} answered 503: what it …`)
})

const redisClients = [
  {
    name: 'ioredis',
    async connect(port: number) {
      const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: 0 })
      onTestFinished(() => client.disconnect())
      return client
    },
  },
  {
    name: 'redis',
    async connect(port: number) {
      const client = createClient({ url: `redis://127.0.0.1:${port}` })
      client.on('error', () => undefined)
      await client.connect()
      onTestFinished(() => client.destroy())
      return client
    },
  },
]

test.each(redisClients)('a stream of Redis gets one entry for each id, by $name', async ({ connect }) => {
  const port = await redisServer()
  const client = await connect(port)
  const looking = new Redis({ port, host: '127.0.0.1' })
  onTestFinished(() => looking.disconnect())
  const publish = toRedisStream({ client, stream: ({ topic }) => `app:{t}:${topic}` })
  await publish(message, options)
  await publish({ ...message, attempt: 2 }, options)
  await publish({ ...message, id: 'other', key: undefined, headers: {} }, options)
  const entries = await looking.xrange('app:{t}:invoice.paid', '-', '+')
  expect(entries.map(([, fields]) => fields)).toEqual([
    [
      'id',
      message.id,
      'topic',
      'invoice.paid',
      'payload',
      message.body,
      'key',
      'in_1 é',
      'headers',
      '{"x-trace":"t"}',
    ],
    ['id', 'other', 'topic', 'invoice.paid', 'payload', message.body],
  ])
  expect(await looking.ttl(`hookonce:{t}:${message.id}`)).toBeGreaterThan(86_000)
})

test('a stream of Redis is trimmed if configured', async () => {
  const port = await redisServer()
  const client = new Redis({ port, host: '127.0.0.1' })
  onTestFinished(() => client.disconnect())
  const publish = toRedisStream({ client, maxEntries: 10 })
  for (let n = 0; n < 500; n += 1) await publish({ ...message, id: String(n) }, options)
  expect(await client.xlen('invoice.paid')).toBeLessThan(300)
})

const natsClients = [
  {
    name: '@nats-io/jetstream',
    async publisher(port: number): Promise<Publish> {
      const connection = await connectNats({ servers: `127.0.0.1:${port}` })
      onTestFinished(() => connection.close())
      return toJetStream({ client: jetstream(connection), headers: natsHeaders })
    },
  },
  {
    name: 'nats',
    async publisher(port: number): Promise<Publish> {
      const connection = await connectOldNats({ servers: `127.0.0.1:${port}` })
      onTestFinished(() => connection.close())
      return toJetStream({ client: connection.jetstream(), headers: oldNatsHeaders })
    },
  },
]

async function invoiceStream(port: number) {
  const connection = await connectNats({ servers: `127.0.0.1:${port}` })
  onTestFinished(() => connection.close())
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'invoices', subjects: ['invoice.*'] })
  return manager
}

test.each(natsClients)('a stream of JetStream stores a message once, by $name', async ({ publisher }) => {
  const port = await natsServer()
  const manager = await invoiceStream(port)
  const publish = await publisher(port)
  await publish(message, options)
  await publish({ ...message, attempt: 2 }, options)
  await publish({ ...message, id: 'other', key: undefined, headers: {} }, options)
  const { state } = await manager.streams.info('invoices')
  expect(state.messages).toBe(2)
  const stored = await manager.streams.getMessage('invoices', { seq: 1 })
  expect(stored?.string()).toBe(message.body)
  expect(stored?.subject).toBe('invoice.paid')
  expect(stored?.header.get('Nats-Msg-Id')).toBe(message.id)
  expect(stored?.header.get('hookonce-key')).toBe(encodeURIComponent('in_1 é'))
  expect(stored?.header.get('x-trace')).toBe('t')
})

test.each(natsClients)(
  'a subject without a stream is a failure, and the message is not lost, by $name',
  async ({ publisher }) => {
    const port = await natsServer()
    const publish = await publisher(port)
    await expect(publish(message, options)).rejects.toThrow()
  },
)

test('a relay keeps the order of a key on Redis and on JetStream', async () => {
  const db = await freshDatabase()
  const [redisPort, natsPort] = await Promise.all([redisServer(), natsServer()])
  const manager = await invoiceStream(natsPort)
  const client = new Redis({ port: redisPort, host: '127.0.0.1' })
  onTestFinished(() => client.disconnect())
  const [nats] = natsClients
  if (!nats) throw new Error('no client of NATS')
  const publishers = { 'audit.': toRedisStream({ client }), 'invoice.': await nats.publisher(natsPort) }
  await Promise.all([relayOn(db, publishers), relayOn(db, publishers)])
  const count = 100
  for (let n = 0; n < count; n += 1) {
    await commitMessages(
      db,
      newMessage(`r${n}`, { topic: 'audit.a', key: 'k', payload: n }),
      newMessage(`n${n}`, { topic: 'invoice.a', key: 'k', payload: n }),
    )
  }
  await allPublished(db)
  const expected = Array.from({ length: count }, (_, n) => String(n))
  const entries = await client.xrange('audit.a', '-', '+')
  expect(entries.map(([, fields]) => fields[5])).toEqual(expected)
  const stored = await Promise.all(
    expected.map((_, n) => manager.streams.getMessage('invoices', { seq: n + 1 })),
  )
  expect(stored.map((entry) => entry?.string())).toEqual(expected)
})

test.each([
  {
    make: () => toHttp({ url: 'ftp://a', secret: SECRET }),
    says: 'toHttp(): url: must be an http or https URL',
  },
  {
    make: () => toHttp({ url: 'https://anna:secret@a/', secret: SECRET }),
    says: 'toHttp(): url: must not contain a user or password',
  },
  {
    make: () => toHttp({ url: 'https://a/', secret: 'whsec_aGk=' }),
    says: 'toHttp(): secret: the secret has 2 bytes, and needs at least 24',
  },
  { make: () => toRedisStream({ client: {} as never }), says: 'must be a client of ioredis or of redis' },
  {
    make: () => toJetStream({ client: {} as never, headers: natsHeaders }),
    says: 'must be a JetStream client',
  },
])('a publisher with a wrong configuration is refused: $says', ({ make, says }) => {
  expect(make).toThrow(says)
})
