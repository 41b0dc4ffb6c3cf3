import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { gitlab, standardWebhooks } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { destination, forwarding, inState, jobs, FORWARD_SECRET as SECRET } from '../../support/forwarding.ts'
import { listening } from '../../support/listening-server.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

test('the original bytes and the headers on the list arrive, signed as Standard Webhooks describe it', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url)
  const sent = signed('{ "id" : "evt_1",\n "type":"a é 🪝" , "n": 1.0 }')
  const receipt = await post({
    ...sent,
    headers: {
      ...sent.headers,
      'x-provider-shop': 'wanted',
      'x-provider': 'not asked for',
      'x-api-key': 'theirs',
      'x-forwarded-for': '10.0.0.1',
      authorization: 'Bearer theirs',
      'content-type': 'application/x-test',
    },
  })
  await inState(db, 'processed')

  const [first] = got
  expect(got).toHaveLength(1)
  expect(first).toMatchObject({ method: 'POST', url: '/hooks?app=1' })
  expect(first?.body.toString()).toBe(sent.body)
  expect(first?.headers).toMatchObject({
    'test-signature': sent.headers['test-signature'],
    'x-provider-shop': 'wanted',
    'content-type': 'application/x-test',
    'webhook-id': receipt,
    'hookonce-source': 'test',
    'hookonce-event-type': encodeURI('a é 🪝'),
  })
  for (const name of ['x-provider', 'x-api-key', 'x-forwarded-for', 'authorization'])
    expect(first?.headers).not.toHaveProperty(name)
  const verified = new Webhook(SECRET).verify(String(first?.body), first?.headers as Record<string, string>)
  expect(verified).toEqual(JSON.parse(sent.body))
})

test('a sender that uses Standard Webhooks stays readable next to the signature of hookonce', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const theirs = standardWebhooks({ secret: `whsec_${Buffer.from('theirs').toString('base64')}` })
  const { post } = await forwarding(db, url, { source: theirs })
  const body = '{"type":"a"}'
  const headers = theirs.sign({ body, id: 'msg_1' })
  const receipt = await post({ method: 'POST', body, headers })
  await inState(db, 'processed')
  expect(got[0]?.headers).toMatchObject({
    'webhook-id': receipt,
    'original-webhook-id': 'msg_1',
    'original-webhook-signature': headers['webhook-signature'],
    'original-webhook-timestamp': headers['webhook-timestamp'],
  })
  new Webhook(SECRET).verify(body, got[0]?.headers as Record<string, string>)
})

test('a token that proves the sender is not forwarded, even if it is listed', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const source = gitlab({ secret: 'the-token-itself' })
  const { post } = await forwarding(db, url, { source, headers: ['x-gitlab-*'] })
  const body = '{"object_kind":"push"}'
  const headers = { ...source.sign({ body }), 'x-gitlab-instance': 'https://gitlab.example' }
  await post({ method: 'POST', body, headers })
  await inState(db, 'processed')
  expect(headers).toMatchObject({ 'x-gitlab-token': 'the-token-itself' })
  expect(got[0]?.headers).toMatchObject({ 'x-gitlab-instance': 'https://gitlab.example' })
  expect(JSON.stringify(got[0]?.headers)).not.toContain('the-token-itself')
})

test('a 500 is retried until a 2xx, with the same webhook-id and Idempotency-Key, also in a replay', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination(
    { status: 500, body: 'not\u0007 yet' },
    { status: 404 },
    { status: 201 },
  )
  const { hooks, post } = await forwarding(db, url)
  const receipt = await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  expect(await jobs(db)).toEqual([{ state: 'processed', attempt: 3, reason: null }])
  const attempts = await db.rows<{ error: string }>(
    'select number, outcome, error from hookonce.attempt order by number',
  )
  expect(attempts).toMatchObject([
    { number: 1, outcome: 'retrying' },
    { number: 2, outcome: 'retrying' },
  ])
  expect(attempts[0]?.error).toContain(`${url.replace('?app=1', '')} answered 500: not`)
  expect(attempts[1]?.error).toContain('answered 404')

  await hooks.replay(receipt)
  await until('it is forwarded again', () => got.length === 4)
  expect(new Set(got.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([receipt]))
  expect(new Set(got.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  expect(got[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{40}$/)
})

test('different events have different Idempotency-Keys', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await post(signed({ id: 'evt_2', type: 'a' }))
  await until('both are forwarded', () => got.length === 2)
  expect(new Set(got.map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
})

test.each([
  { name: 'in seconds', value: () => '600' },
  { name: 'as a date', value: () => new Date(Date.now() + 600_000).toUTCString() },
])('Retry-After $name is honoured', async ({ value }) => {
  const db = await freshDatabase()
  const { url } = await destination({ status: 429, headers: { 'retry-after': value() } })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'retrying')
  const wait = await db.number(
    'select extract(epoch from j.due_at - a.ended_at) from hookonce.job j join hookonce.attempt a using (shard, receipt_id)',
  )
  expect(wait).toBeGreaterThan(590)
  expect(wait).toBeLessThan(610)
})

test('a Retry-After of years is cut to an hour, and does not bury the event', async () => {
  const db = await freshDatabase()
  const { url } = await destination({ status: 503, headers: { 'retry-after': '999999999' } })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'retrying')
  expect(await db.number('select extract(epoch from due_at - now()) from hookonce.job')).toBeLessThanOrEqual(
    3_600,
  )
})

test('an invalid Retry-After is ignored', async () => {
  const db = await freshDatabase()
  const { url } = await destination({ status: 503, headers: { 'retry-after': 'soon' } })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  expect(await jobs(db)).toEqual([{ state: 'processed', attempt: 2, reason: null }])
})

test('a redirect is not followed: it is a failure like any other', async () => {
  const db = await freshDatabase()
  const elsewhere = await destination()
  const { url, got } = await destination({ status: 307, headers: { location: elsewhere.url } })
  const { post } = await forwarding(db, url)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  expect(elsewhere.got).toEqual([])
  expect(got).toHaveLength(2)
  const [attempt] = await db.rows<{ error: string }>('select error from hookonce.attempt')
  expect(attempt?.error).toContain('answered 307')
})

test('a destination that is down leaves the job retrying, with the reason, and it completes when it is back', async () => {
  const db = await freshDatabase()
  const down = createServer((_request, response) => response.writeHead(200).end())
  await new Promise<void>((resolve) => down.listen(0, '127.0.0.1', resolve))
  const { port } = down.address() as AddressInfo
  await new Promise((resolve) => down.close(resolve))
  const { post } = await forwarding(db, `http://127.0.0.1:${port}/`, {
    retry: { baseDelayMs: 100, maxDelayMs: 200 },
  })
  await post(signed({ id: 'evt_1', type: 'a' }))
  const reason = await until('it is retrying', async () => {
    const [job] = await db.rows<{ reason: string }>(
      `select reason from hookonce.job where state = 'retrying'`,
    )
    return job?.reason
  })
  expect(reason).toContain('FORWARD_FAILED')
  expect(reason).toContain('could not be reached')
  expect(reason).toContain('ECONNREFUSED')

  await new Promise<void>((resolve) => down.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    down.close()
    down.closeAllConnections()
  })
  await inState(db, 'processed')
})

test('a destination that never ends its response body does not hold the job', async () => {
  const db = await freshDatabase()
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(request.url === '/ok' ? 200 : 500).write('and so on')
  })
  const origin = await listening(server)
  const { post } = await forwarding(db, `${origin}/ok`)
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  const other = await freshDatabase()
  const failing = await forwarding(other, `${origin}/no`, { retry: { maxAttempts: 1 } })
  await failing.post(signed({ id: 'evt_1', type: 'a' }))
  await inState(other, 'failed')
  expect((await jobs(other))[0]?.reason).toContain('answered 500: and so on')
})

test('used-up attempts leave the job failed, and a replay forwards it', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination({ status: 500 }, { status: 500 })
  const { hooks, post } = await forwarding(db, url, { retry: { maxAttempts: 2, baseDelayMs: 10 } })
  const receipt = await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  expect(await hooks.replay(receipt)).toEqual({ receiptId: receipt, jobs: 1 })
  await inState(db, 'processed')
  expect(got).toHaveLength(3)
})
