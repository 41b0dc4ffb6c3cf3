import { request } from 'node:http'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { signed } from '../../support/source.ts'

/* fetch() and node() are two doors to one receiver: the same request gets the same answer. */

interface Told {
  readonly status: number
  readonly headers: Record<string, string | undefined>
  readonly body: string
}

const HEADERS = ['content-type', 'allow', 'retry-after']

interface Sent {
  readonly method?: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

async function told(answer: Response): Promise<Told> {
  return {
    status: answer.status,
    headers: Object.fromEntries(HEADERS.map((name) => [name, answer.headers.get(name) ?? undefined])),
    body: await answer.text(),
  }
}

// node:http can send any method and any header, unlike the global fetch.
function byNode(url: string, { method = 'POST', body = '', headers = {} }: Sent): Promise<Told> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => {
        text += String(chunk)
      })
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Object.fromEntries(
            HEADERS.map((name) => [name, incoming.headers[name] as string | undefined]),
          ),
          body: text,
        }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const GOOD = signed({ id: 'evt_1', type: 'a.b' })
const cases: { name: string; path?: string; sent: Sent; status: number; twice?: boolean }[] = [
  { name: 'a new event', sent: GOOD, status: 202 },
  { name: 'a repeat', sent: GOOD, status: 200, twice: true },
  { name: 'a type that nobody wants', sent: signed({ id: 'evt_2', type: 'other' }), status: 200 },
  {
    name: 'a wrong signature',
    sent: { ...GOOD, headers: { 'test-signature': '0'.repeat(64) } },
    status: 401,
  },
  { name: 'an empty body', sent: signed(''), status: 400 },
  { name: 'no JSON', sent: signed('no JSON'), status: 400 },
  { name: 'an unknown source', path: '/in/other', sent: GOOD, status: 404 },
  { name: 'a path with a query', path: '/in/test?source=other', sent: GOOD, status: 202 },
  { name: 'a source name with escapes', path: '/in/%74est', sent: GOOD, status: 202 },
  { name: 'PUT', sent: { ...GOOD, method: 'PUT' }, status: 405 },
  { name: 'DELETE without a body', sent: { method: 'DELETE' }, status: 405 },
  { name: 'gzip', sent: { ...GOOD, headers: { ...GOOD.headers, 'content-encoding': 'gzip' } }, status: 415 },
  {
    name: 'identity',
    sent: { ...GOOD, headers: { ...GOOD.headers, 'content-encoding': 'identity' } },
    status: 202,
  },
  {
    name: 'a large body',
    sent: signed({ id: 'evt_3', type: 'a.b', padding: 'x'.repeat(2_000) }),
    status: 413,
  },
]

test.each(cases)('$name is answered $status by both', async ({ path = '/in/test', sent, status, twice }) => {
  const answers: Told[] = []
  const stored: unknown[] = []
  for (const door of ['fetch', 'node'] as const) {
    const db = await freshDatabase()
    const { listen, post, stop } = receiving(db, {
      types: 'a.*',
      options: { limits: { maxBodyBytes: 1_000 } },
    })
    const { method = 'POST', body, headers = {} } = sent
    const deliver =
      door === 'fetch'
        ? async () => told(await post({ method, headers, ...(body === undefined ? {} : { body }) }, path))
        : async () => byNode(`${await listen()}${path}`, sent)
    if (twice) await deliver()
    answers.push(await deliver())
    await stop()
    stored.push({
      receipts: await db.rows(
        `select id, shard, event_key, event_type, encode(sha256(body), 'hex') as sha from hookonce.receipt`,
      ),
      jobs: await db.rows('select receipt_id, state from hookonce.job'),
      duplicates: await db.rows('select receipt_id, count, mismatches from hookonce.duplicate'),
      rejections: await db.rows('select source, code, count from hookonce.rejection'),
    })
  }
  expect(answers[0]?.status).toBe(status)
  expect(answers[1]).toEqual(answers[0])
  expect(stored[1]).toEqual(stored[0])
})
