import { request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { pageWithCursors } from '../../../src/gateway/api/cursor.ts'
import { stripe } from '../../../src/sources/index.ts'
import { type AdminApi, adminApi, expectProblem } from '../../support/admin-api.ts'
import { destination, FORWARD_SECRET, SECRET } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'

/*
 * Attacks by an operator of another tenant, a viewer and a stranger, on one gateway with two
 * tenants.
 */

const PLANTED = 'planted-in-acme'

interface Raw {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Sends the path unchanged: `fetch` would normalise it. */
function raw(
  port: number,
  path: string,
  more: { method?: string; headers?: object; body?: string } = {},
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = more
    const asking = request(
      { host: '127.0.0.1', port, path, method, headers: { ...headers }, maxHeaderSize: 1e6 },
      async (response) => {
        let text = ''
        for await (const chunk of response) text += String(chunk)
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      },
    )
    asking.on('error', reject).end(body)
  })
}

async function deliverTo(port: number, tenant: string, body: string): Promise<number> {
  const headers = stripe({ secret: SECRET }).sign({ body })
  const url = `http://127.0.0.1:${port}/in/${tenant}/stripe`
  return (await fetch(url, { method: 'POST', body, headers })).status
}

const event = (id: string, more: object = {}): string => JSON.stringify({ id, type: 'invoice.paid', ...more })

interface Stage extends AdminApi {
  readonly forwarded: { readonly bodies: string[] }
  /** The id of an event of acme. */
  readonly id: string
  readonly beta: string
  readonly viewer: string
}

async function stage(): Promise<Stage> {
  const forwarded = await destination()
  const source = { provider: 'stripe', secret: 'env:STRIPE_SECRET' }
  const app = { url: forwarded.url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] }
  const config = { sources: { 'acme/stripe': source, 'beta/stripe': source }, destinations: { app } }
  const api = await adminApi({ config })
  for (const n of [1, 2, 3])
    expect(await deliverTo(api.port, 'acme', event(`evt_${n}`, { note: PLANTED }))).toBe(202)
  const [{ id }] = (await api.get('/events?tenant=acme')).json.data
  const beta = await api.token({ name: 'beta', role: 'operator', tenant: 'beta' })
  const viewer = await api.token({ name: 'viewer', role: 'viewer' })
  return { ...api, forwarded, id, beta, viewer }
}

test("a foreign tenant's operator reaches nothing of another tenant", async () => {
  const { db, adminPort, port, base, get, post, id, beta, gateway } = await stage()
  const as = { token: beta }
  const authorization = `Bearer ${beta}`
  for (const path of [
    `/api/v1/events/${id}/body`,
    `/api/v1/../api/v1/events/${id}/body`,
    `/api/v1/events/../events/${id}/body`,
    `/api/v1/events/${id}%2fbody`,
    `/api/v1/events/${id}/body?tenant=acme`,
    `/api/v1/events/${id}?payloads=true`,
    `/api/v1/events/${id.toUpperCase()}`,
    `/api/v1//events/${id}`,
    `/api/v1/events/${id};tenant=acme`,
    `/api/v1/events/%2e%2e/events/${id}`,
    `/api/v1/events/${id.slice(0, 1)}`,
    `/api/v1/sources/acme%2Fstripe/test`,
  ]) {
    const answer = await raw(adminPort, path, { headers: { authorization } })
    expect([path, [400, 403, 404, 405].includes(answer.status)]).toEqual([path, true])
    expect(answer.text).not.toContain(PLANTED)
  }

  // A cursor of the other tenant's list, and a forged cursor of the own list.
  const { next } = (await get('/events?tenant=acme&limit=1')).json
  expectProblem(await get(`/events?limit=1&cursor=${next}`, as), 400, 'CURSOR_INVALID')
  const position = Buffer.from(next, 'base64url').toString('utf8').slice(17)
  const forged = pageWithCursors({ data: [], next: position }, { list: 'events', filter: { tenant: 'beta' } })
  expect((await get(`/events?limit=200&cursor=${forged.next}`, as)).json.data).toEqual([])

  const replay = (await post('/replays', { name: 'all', tenant: 'acme', state: 'processed', why: 'x' })).json
  expectProblem(await get(`/replays/${replay.id}`, as), 404, 'REPLAY_UNKNOWN')
  expectProblem(await post(`/replays/${replay.id}/cancel`, { why: 'x' }, as), 404, 'REPLAY_UNKNOWN')
  expectProblem(await post('/replays', { name: 'n', tenant: 'acme', why: 'x' }, as), 403, 'FORBIDDEN')
  expectProblem(await post(`/events/${id}/replay`, { why: 'x' }, as), 404, 'RECEIPT_UNKNOWN')
  for (const path of ['/sources/stripe/pause', '/subscribers/stripe/app/pause', '/outbox/replay'])
    expectProblem(await post(path, { why: 'x', tenant: 'acme' }, as), 403, 'FORBIDDEN')
  for (const names of ['__proto__', 'constructor', 'prototype']) {
    const body = `{"${names}":{"tenant":"acme"},"why":"x"}`
    expectProblem(await post('/sources/stripe/pause', body, as), 400, 'REQUEST_INVALID')
  }
  expect(await db.number('select count(*) from hookonce.source where paused_at is not null')).toBe(0)

  expectProblem(await get('/stream?tenant=acme', as), 400, 'REQUEST_INVALID')
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const stream = await fetch(`${base}/stream`, { headers: { authorization }, signal: leaving.signal })
  let streamed = ''
  void (async () => {
    for await (const chunk of stream.body ?? []) streamed += Buffer.from(chunk).toString()
  })().catch(() => undefined)
  expect(await deliverTo(port, 'acme', event('evt_of_acme'))).toBe(202)
  expect(await deliverTo(port, 'beta', event('evt_of_beta'))).toBe(202)
  const [own] = (await get('/events', as)).json.data
  await until('the own event is streamed', () => streamed.includes(own.id))
  for (const other of (await get('/events?tenant=acme')).json.data) expect(streamed).not.toContain(other.id)
  for (const secret of [SECRET, FORWARD_SECRET, beta]) expect(gateway.output.stderr).not.toContain(secret)
})

test('a viewer changes nothing and reads no payload, whatever it sends', async () => {
  const { db, adminPort, get, post, call, id, viewer } = await stage()
  const as = { token: viewer }
  const audited = await db.number('select count(*) from hookonce.audit')
  const bodies = [
    [`/events/${id}/replay`, { why: 'x' }],
    ['/replays', { name: 'n', why: 'x' }],
    ['/sources/stripe/pause', { why: 'x', tenant: 'acme' }],
    ['/tokens', { name: 'mine', role: 'admin', why: 'x' }],
  ] as const
  for (const [path, body] of bodies) {
    expectProblem(await post(path, body, as), 403, 'FORBIDDEN')
    const headers = { 'x-http-method-override': 'POST', 'x-original-url': `/api/v1${path}` }
    expect((await get(path, { ...as, headers })).status).not.toBe(201)
  }
  expectProblem(await call('DELETE', '/tokens/beta?why=x', as), 403, 'FORBIDDEN')
  // Even an admin cannot create a token whose name is the id of another token: revoking one would
  // revoke both.
  const [{ id: tokenId }] = (await get('/tokens')).json.data
  expectProblem(await post('/tokens', { name: tokenId, role: 'viewer', why: 'x' }), 400, 'CONFIG_INVALID')
  for (const path of [`/events/${id}/body`, `/events/${id}?payloads=true`])
    expectProblem(await get(path, as), 403, 'FORBIDDEN')
  expect((await get(`/events/${id}`, as)).text).not.toContain(PLANTED)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(audited)

  const headers = { authorization: `Bearer ${viewer}` }
  const markup = await raw(adminPort, '/api/v1/%3Cscript%3Ealert(1)%3C/script%3E', { headers })
  expect(markup).toMatchObject({ status: 404 })
  expect(markup.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'x-content-type-options': 'nosniff',
  })
  expectProblem(await get(`/events?q=${'a'.repeat(8_000)}`, as), 400, 'REQUEST_INVALID')
  expect((await raw(adminPort, `/api/v1/events?q=${'a'.repeat(60_000)}`, { headers })).status).toBe(431)
  expect((await get('/events', as)).status).toBe(200)
})

test('a stranger on the delivery port reaches deliveries only, and cannot stop them', async () => {
  const { db, port, forwarded, gateway } = await stage()
  for (const path of [
    '/',
    '/metrics',
    '/api/v1/events',
    '/in/acme/stripe/../../../metrics',
    '/in/acme/stripe%2f..%2f..%2fmetrics',
    '/in/__proto__',
    '/in/constructor',
    '/in/acme/__proto__',
    '/in/hasOwnProperty/toString',
    '//in/acme/stripe',
    '/in/%',
    '/in/%00',
    `/in/${'a'.repeat(10_000)}`,
    '/in/%0d%0ax-evil:%201',
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'TRACE', 'OPTIONS']) {
      const answer = await raw(port, path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
      expect([path, method, answer.status >= 400 && answer.status < 500]).toEqual([path, method, true])
      expect(answer.headers).not.toHaveProperty('x-evil')
    }
  }
  const flood = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`x-${n}`, 'y'.repeat(20)]))
  // The gateway closes the connection of a flood, so the answer may be lost while the client still
  // sends.
  const flooded = raw(port, '/in/acme/stripe', { method: 'POST', headers: flood, body: '{}' })
  expect([431, 'ECONNRESET', 'EPIPE']).toContain(
    await flooded.then(
      ({ status }) => status,
      ({ code }) => code,
    ),
  )

  // Signed, but hostile: names of prototype properties, and line breaks in a value that becomes a
  // header.
  const hostile = [
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"id":"evt_proto","type":"invoice.paid"}',
    event('evt_lines\r\nx-evil: 1'),
    event('evt_type', { type: 'a\r\nx-evil: 1' }),
    event('<img src=x onerror=alert(1)>'),
  ]
  for (const body of hostile) expect([202, 400]).toContain(await deliverTo(port, 'acme', body))
  expect(await deliverTo(port, 'acme', event('evt_last'))).toBe(202)
  await until('the events after them are forwarded', () =>
    forwarded.bodies.some((body) => body.includes('evt_last')),
  )
  await until('no job is left', async () => {
    const left = `select count(*) from hookonce.job where state in ('received', 'processing')`
    return (await db.number(left)) === 0
  })
  expect(gateway.child.exitCode).toBeNull()
  expect(gateway.output.stderr).not.toContain('\nx-evil')
  for (const secret of [SECRET, FORWARD_SECRET]) expect(gateway.output.stderr).not.toContain(secret)
})
