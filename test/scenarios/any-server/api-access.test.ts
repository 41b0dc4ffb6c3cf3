import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_TOKEN, type ApiAnswer, adminApi, expectProblem } from '../../support/admin-api.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { configTo, destination } from '../../support/gateway.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* Access to the admin API: tokens, roles, tenants, sessions. */

const ROLES = ['viewer', 'operator', 'admin'] as const

interface Operation {
  readonly 'x-role': (typeof ROLES)[number] | 'anyone'
  readonly 'x-scope': 'tenant' | 'ledger'
}

test('every route of the document refuses strangers, lesser roles and bound tokens', async () => {
  const { get, call, token, db } = await adminApi()
  const { paths } = (await get('/openapi.json')).json as {
    paths: Record<string, Record<string, Operation>>
  }
  const tokens = Object.fromEntries(
    await Promise.all(
      ROLES.map(async (role) => [role, await token({ name: role, role, bodies: true })] as const),
    ),
  )
  const bound = await token({ name: 'bound', role: 'admin', tenant: 'acme' })
  const audited = await db.number('select count(*) from hookonce.audit')
  const walked: string[] = []
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const where = `${method.toUpperCase()} ${path}`
      const least = operation['x-role']
      // The ids do not exist and the body is invalid, so a request with access is refused for these
      // reasons.
      const at = path.replaceAll(/\{\w+\}/g, 'nothing')
      const body = method === 'post' ? {} : undefined
      // A stream does not end without a disconnect.
      if (path === '/stream') continue
      const ask = (as: string | null): Promise<ApiAnswer> =>
        call(method.toUpperCase(), at, { token: as, ...(body ? { body } : {}) })
      if (least === 'anyone') {
        expect(where).toBe('POST /session')
        continue
      }
      walked.push(where)
      expectProblem(await ask(null), 401, 'UNAUTHENTICATED')
      // An address may present a wrong token ten times a minute.
      if (walked.length < 8) expectProblem(await ask(`hko_${'x'.repeat(43)}`), 401, 'UNAUTHENTICATED')
      for (const role of ROLES) {
        const { status, json } = await ask(tokens[role] ?? '')
        const isAllowed = ROLES.indexOf(role) >= ROLES.indexOf(least)
        expect([where, role, isAllowed ? ![401, 403].includes(status) : json?.code]).toEqual([
          where,
          role,
          isAllowed ? true : 'FORBIDDEN',
        ])
      }
      const ofTenant = await ask(bound)
      if (operation['x-scope'] === 'ledger') expectProblem(ofTenant, 403, 'FORBIDDEN')
      else expect([where, [401, 403].includes(ofTenant.status)]).toEqual([where, false])
    }
  }
  expect(walked.length).toBeGreaterThan(25)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(audited)
})

test('an event of another tenant does not exist, in lists, by id, by key and for verbs', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 3, { state: 'failed' })
  await db.rows(`update hookonce.source set tenant = 'acme'`)
  await db.rows(`update hookonce.subscriber set tenant = 'acme'`)
  await db.rows(`update hookonce.receipt set tenant = 'acme'`)
  const { get, post, token } = await adminApi({ db, args: ['--receive-only'] })
  const [{ id, eventKey }] = (await get('/events')).json.data
  const own = await token({ name: 'own', role: 'operator', tenant: 'acme' })
  const foreign = await token({ name: 'foreign', role: 'operator', tenant: 'other' })
  expect((await get('/events', { token: own })).json.data).toHaveLength(3)
  expect((await get(`/events/${id}`, { token: own })).status).toBe(200)
  for (const path of [
    '/events',
    `/events?q=${eventKey}`,
    `/events?q=${id}`,
    '/events?state=failed',
    '/failures',
    '/sources',
    '/subscribers',
  ])
    expect([path, (await get(path, { token: foreign })).json.data]).toEqual([path, []])
  expectProblem(await get('/events?tenant=acme', { token: foreign }), 403, 'FORBIDDEN')
  const missing = await get('/events/00000000-0000-0000-0000-000000000000', { token: foreign })
  for (const path of [`/events/${id}`, `/events/${id}/body`, `/events/${id}/replay`]) {
    const answer = await get(path, { token: foreign })
    expectProblem(answer, 404, 'RECEIPT_UNKNOWN')
    expect(answer.json.title).toBe(missing.json.title)
  }
  expectProblem(await post(`/events/${id}/replay`, { why: 'x' }, { token: foreign }), 404, 'RECEIPT_UNKNOWN')
  const pause = await post('/sources/test/pause', { why: 'x' }, { token: foreign })
  expectProblem(pause, 404, 'SOURCE_UNKNOWN')
  expect(JSON.stringify(pause.json)).not.toContain('acme')
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(3)
  expect(await db.number('select count(*) from hookonce.source where paused_at is not null')).toBe(0)
})

test('a bound token gets neither names nor decisions nor failures of other tenants', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'failed' })
  const { get, post, token } = await adminApi({ db, args: ['--receive-only'] })
  // An admin of the whole ledger creates all tokens. That concerns no tenant, not even `default`.
  const own = await token({ name: 'own', role: 'operator', tenant: 'default' })
  const foreign = await token({ name: 'foreign', role: 'operator', tenant: 'acme' })
  await token({ name: 'auditor', role: 'viewer' })
  expect((await post('/replays', { name: 'all', why: 'x' })).status).toBe(201)
  const decisions = async (as: string): Promise<string[]> =>
    (await get('/audit', { token: as })).json.data.map((one: { subject: string }) => one.subject)
  expect(await decisions(own)).toEqual(['token own'])
  expect(await decisions(foreign)).toEqual(['token foreign'])
  // A source of another tenant causes the same error as an unknown source.
  expect((await post('/replays/plan', { source: 'test' }, { token: own })).status).toBe(200)
  for (const source of ['test', 'nobody']) {
    const answer = await post('/replays/plan', { source }, { token: foreign })
    expectProblem(answer, 400, 'CONFIG_INVALID')
    expect(answer.json.detail).toBe(`the ledger knows no source "${source}" of tenant "acme"`)
  }
})

test('a bound token does not see the reason of a circuit that other tenants share', async () => {
  const { url } = await destination()
  const github = { provider: 'github', secret: 'env:STRIPE_SECRET' }
  const app = { url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] }
  const config = {
    sources: { 'acme/github': github, 'beta/github': github },
    destinations: { shared: app, own: { ...app, sources: ['acme/github'] } },
  }
  const { get, token, db } = await adminApi({ config })
  await db.rows(`update hookonce.limiter set state = 'open', reason = 'answered 500: of beta'`)
  const bound = await token({ name: 'bound', role: 'viewer', tenant: 'acme' })
  const reasons = async (path: string, as: string | undefined): Promise<Record<string, unknown>> => {
    const { data } = (await get(path, as === undefined ? {} : { token: as })).json
    type Row = { name?: string; subscriber?: string; circuit: { state: string; reason: unknown } }
    return Object.fromEntries(
      data.map(({ name, subscriber, circuit }: Row) => [name ?? subscriber, [circuit.state, circuit.reason]]),
    )
  }
  for (const path of ['/destinations', '/subscribers']) {
    expect(await reasons(path, undefined)).toMatchObject({ shared: ['open', 'answered 500: of beta'] })
    expect(await reasons(path, bound)).toEqual({
      shared: ['open', null],
      own: ['open', 'answered 500: of beta'],
    })
  }
})

test('a viewer sees no body, header or payload, unless its token allows it', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1)
  await db.rows(`update hookonce.receipt set headers = 'x-planted: value'`)
  const { get, token } = await adminApi({ db, args: ['--receive-only'] })
  const [{ id }] = (await get('/events')).json.data
  const plain = await token({ name: 'plain', role: 'viewer' })
  const reading = await token({ name: 'reading', role: 'viewer', bodies: true })
  const blind = await token({ name: 'blind', role: 'admin', bodies: false })
  for (const token of [plain, blind]) {
    expectProblem(await get(`/events/${id}/body`, { token }), 403, 'FORBIDDEN')
    expect((await get(`/events/${id}`, { token })).text).not.toContain('planted')
    expectProblem(await get(`/events/${id}?payloads=true`, { token }), 403, 'FORBIDDEN')
  }
  expect((await get(`/events/${id}/body`, { token: reading })).status).toBe(200)
  expect((await get(`/events/${id}?payloads=true`, { token: reading })).text).toContain('x-planted')
  const looks = `select actor, action, address from hookonce.audit where action like 'read-%' order by id`
  expect(await db.rows(looks)).toEqual([
    { actor: 'reading', action: 'read-body', address: '127.0.0.1' },
    { actor: 'reading', action: 'read-headers', address: '127.0.0.1' },
  ])
})

test('views of bodies are not recorded if the configuration turns that off', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1)
  const config = { ...configTo('http://127.0.0.1:1/'), admin: { auditBodies: 'off' } }
  const { get } = await adminApi({ db, config, args: ['--receive-only'] })
  const [{ id }] = (await get('/events')).json.data
  expect((await get(`/events/${id}/body`)).status).toBe(200)
  expect((await get(`/events/${id}?payloads=true`)).json.receipt.headers).not.toBeNull()
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)
})

test('tokens are made, listed and revoked by the API and the command line, and stored as hashes', async () => {
  const { get, call, db, base, post } = await adminApi({ args: ['--receive-only'] })
  const env = { DATABASE_URL: db.url }
  const made = await cli(['token', 'create', 'deploys', '--role', 'operator', '--why', 'deploys'], env)
  expect(made.stdout).toMatch(/^hko_[\w-]{43}\n$/)
  const deploys = made.stdout.trim()
  expect((await get('/session', { token: deploys })).json).toMatchObject({
    name: 'deploys',
    role: 'operator',
  })
  const again = await cli(['token', 'create', 'deploys', '--role', 'viewer'], env)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('TOKEN_EXISTS') })
  expect((await cli(['token', 'create', 'x', '--role', 'king'], env)).stderr).toContain(
    'viewer, operator, admin',
  )
  const dump = JSON.stringify(await db.rows('select * from hookonce.token'))
  expect(dump).not.toContain(deploys)
  const listed = (await get('/tokens')).json.data
  expect(listed).toMatchObject([{ name: 'deploys', role: 'operator', tenant: null, bodies: true }])
  expect(listed[0].usedAt).not.toBeNull()
  expect(JSON.stringify(listed)).not.toContain('hash')
  expectProblem(await post('/tokens', { name: 'a b', role: 'viewer', why: 'x' }), 400, 'REQUEST_INVALID')
  const past = { name: 'late', role: 'viewer', why: 'x', expiresAt: '2020-01-01T00:00:00Z' }
  expectProblem(await post('/tokens', past), 400, 'CONFIG_INVALID')

  expectProblem(await call('DELETE', '/tokens/deploys'), 400, 'REQUEST_INVALID')
  const revoke = '/tokens/deploys?why=it%20leaked'
  expect((await call('DELETE', revoke)).json).toMatchObject({ name: 'deploys' })
  expectProblem(await get('/events', { token: deploys }), 401, 'UNAUTHENTICATED')
  expectProblem(await call('DELETE', revoke), 404, 'TOKEN_UNKNOWN')
  await db.rows(`update hookonce.token set revoked_at = null, expires_at = now() - interval '1 second'`)
  expectProblem(await get('/events', { token: deploys }), 401, 'UNAUTHENTICATED')
  expect((await get('/tokens?revoked=true')).json.data).toHaveLength(1)
  expect((await cli(['token', 'list'], env)).stdout).toContain('deploys')
  expect((await get('/audit')).json.data).toMatchObject([
    {
      action: 'revoke-token',
      actor: 'env:HOOKONCE_ADMIN_TOKEN',
      address: '127.0.0.1',
      subject: 'token deploys',
    },
    { action: 'create-token', why: 'deploys', address: null },
  ])
  // A viewer's token also has access to the metrics. A token that is bound to a tenant does not.
  const { stdout: viewer } = await cli(['token', 'create', 'prometheus', '--role', 'viewer'], env)
  const { stdout: bound } = await cli(['token', 'create', 'acme', '--role', 'admin', '--tenant', 'acme'], env)
  const scrape = (as: string): Promise<Response> =>
    fetch(base.replace('/api/v1', '/metrics'), { headers: { authorization: `Bearer ${as.trim()}` } })
  expect((await scrape(viewer)).status).toBe(200)
  expect((await scrape(bound)).status).toBe(403)
})

test('a browser logs in with a token, and its cookie needs the csrf header and the same site', async () => {
  const { call, get, post, db, adminPort, token } = await adminApi({ args: ['--receive-only'] })
  await seedJobs(db, 1, { state: 'failed' })
  const [{ id }] = (await get('/events')).json.data
  expectProblem(await post('/session', { token: 'wrong' }, { token: null }), 401, 'UNAUTHENTICATED')
  expectProblem(await post('/session', {}, { token: null }), 400, 'REQUEST_INVALID')
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  expectProblem(
    await post('/session', { token: ADMIN_TOKEN }, { token: null, headers: foreign }),
    403,
    'CROSS_SITE',
  )

  const stored = await token({ name: 'ann', role: 'operator' })
  for (const presented of [ADMIN_TOKEN, stored]) {
    const login = await post('/session', { token: presented }, { token: null })
    expect(login.status).toBe(200)
    const setCookie = login.headers.get('set-cookie') ?? ''
    expect(setCookie).toMatch(/^hookonce=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Expires=/)
    expect(setCookie).not.toContain('Secure')
    const cookie = setCookie.split(';')[0] ?? ''
    const { csrf } = login.json
    expect((await get('/session', { token: null, headers: { cookie } })).json).toMatchObject({ csrf })
    expect((await get('/events', { token: null, headers: { cookie } })).status).toBe(200)
    const replay = (headers: Record<string, string>): Promise<ApiAnswer> =>
      post(`/events/${id}/replay`, { why: 'x' }, { token: null, headers: { cookie, ...headers } })
    expectProblem(await replay({}), 403, 'CROSS_SITE')
    expectProblem(await replay({ 'x-hookonce-csrf': 'guess' }), 403, 'CROSS_SITE')
    expectProblem(await replay({ 'x-hookonce-csrf': csrf, 'sec-fetch-site': 'same-site' }), 403, 'CROSS_SITE')
    expectProblem(await replay({ 'x-hookonce-csrf': csrf, origin: 'http://evil.example' }), 403, 'CROSS_SITE')
    const origin = `http://127.0.0.1:${adminPort}`
    expect((await replay({ 'x-hookonce-csrf': csrf, origin, 'sec-fetch-site': 'same-origin' })).status).toBe(
      200,
    )
    const out = await call('DELETE', '/session', {
      token: null,
      headers: { cookie, 'x-hookonce-csrf': csrf },
    })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('hookonce=;')])
    expectProblem(await get('/events', { token: null, headers: { cookie } }), 401, 'UNAUTHENTICATED')
  }
  // A session ends with its token.
  const { headers } = await post('/session', { token: stored }, { token: null })
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  await call('DELETE', '/tokens/ann?why=left')
  expectProblem(await get('/events', { token: null, headers: { cookie } }), 401, 'UNAUTHENTICATED')
  // Under a public name the cookie is secure, and bound to the host.
  expect(await setCookieFor(adminPort, 'hooks.example')).toMatch(
    /^__Host-hookonce=[\w-]{43}; Path=\/;.*; Secure$/,
  )
})

/** The cookie of a log-in under another host name than the address. */
function setCookieFor(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path: '/api/v1/session',
      method: 'POST',
      headers: { host, 'content-type': 'application/json' },
    }
    const asking = request(options, (response) => {
      response.resume()
      resolve(response.headers['set-cookie']?.[0])
    })
    asking.on('error', reject).end(JSON.stringify({ token: ADMIN_TOKEN }))
  })
}

test('another admin token in the environment ends the sessions of the old one', async () => {
  const first = await adminApi({ args: ['--receive-only'] })
  const { headers } = await first.post('/session', { token: ADMIN_TOKEN }, { token: null })
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  expect((await first.get('/events', { token: null, headers: { cookie } })).status).toBe(200)
  await first.gateway.stop()
  const { db } = first
  const same = await adminApi({ db, args: ['--receive-only'] })
  expect((await same.get('/events', { token: null, headers: { cookie } })).status).toBe(200)
  await same.gateway.stop()
  const env = { HOOKONCE_ADMIN_TOKEN: `another-${ADMIN_TOKEN}` }
  const changed = await adminApi({ db, args: ['--receive-only'], env })
  expectProblem(await changed.get('/events', { token: null, headers: { cookie } }), 401, 'UNAUTHENTICATED')
})

test('wrong tokens are limited by address, and the admin token still has access', async () => {
  const { get, post, token } = await adminApi({ args: ['--receive-only'] })
  const used = await token({ name: 'used', role: 'viewer' })
  const unused = await token({ name: 'unused', role: 'viewer' })
  expect((await get('/events', { token: used })).status).toBe(200)
  const wrong = { token: `hko_${'w'.repeat(43)}` }
  for (let n = 0; n < 10; n += 1) expectProblem(await get('/events', wrong), 401, 'UNAUTHENTICATED')
  const limited = await get('/events', wrong)
  expectProblem(limited, 429, 'TOO_MANY_ATTEMPTS')
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  expectProblem(await post('/session', wrong, { token: null }), 429, 'TOO_MANY_ATTEMPTS')
  expect((await get('/events')).status).toBe(200)
  // A client that was valid before is not locked out by failures of others behind the same address.
  expect((await get('/events', { token: used })).status).toBe(200)
  expectProblem(await get('/events', { token: unused }), 429, 'TOO_MANY_ATTEMPTS')
})

test('without a token, serve gives access only to the metrics: a local proxy may let strangers in', async () => {
  const { post, get, db, adminPort, base } = await adminApi({
    args: ['--receive-only'],
    env: { HOOKONCE_ADMIN_TOKEN: '' },
  })
  await seedJobs(db, 1, { state: 'failed' })
  const refused = await get('/events', { token: null })
  expectProblem(refused, 401, 'UNAUTHENTICATED')
  expect(refused.json.detail).toContain('hookonce token create')
  expectProblem(await post('/replays', { name: 'all', why: 'x' }, { token: null }), 401, 'UNAUTHENTICATED')
  expect((await fetch(base.replace('/api/v1', '/metrics'))).status).toBe(200)
  // Like nginx in its default configuration.
  expect(await asNginx(adminPort, '/api/v1/events')).toMatch(/^HTTP\/1.1 403 /)
  expect(await asNginx(adminPort, '/metrics')).toMatch(/^HTTP\/1.1 403 /)
  const { stdout } = await cli(['token', 'create', 'ann', '--role', 'viewer'], { DATABASE_URL: db.url })
  expect((await get('/events', { token: stdout.trim() })).json.data).toHaveLength(1)
})

/** The whole answer to a GET from a proxy that rewrites the host name and adds no header. */
async function asNginx(port: number, path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

test('under a mount path a proxy serves the listener: without a token not even the metrics are open', async () => {
  const { adminPort } = await adminApi({
    args: ['--receive-only', '--admin-path', '/ops'],
    env: { HOOKONCE_ADMIN_TOKEN: '' },
  })
  const listener = `http://127.0.0.1:${adminPort}/ops`
  for (const path of ['/metrics', '/api/v1/events'])
    expect((await fetch(`${listener}${path}`)).status).toBe(401)
  expect((await fetch(`${listener}/healthz`)).status).toBe(200)
})

test('dev is open to its own machine without a token, but to no web page and no proxy', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'failed' })
  const args = ['dev', '--json', '--port', '0', '--admin-port', '0', '--dir', temporaryDirectory()]
  const dev = startCli(args, { DATABASE_URL: db.url })
  const { adminPort } = await dev.line<{ adminPort: number }>('adminPort')
  const base = `http://127.0.0.1:${adminPort}/api/v1`
  const ask = async (path: string, headers: Record<string, string> = {}, body?: object) =>
    fetch(`${base}${path}`, {
      headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
  const { data } = (await (await ask('/events')).json()) as { data: { id: string }[] }
  const path = `/events/${data[0]?.id}/replay`
  const page = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const why = { why: 'x' }
  expect(await (await ask(path, page, why)).json()).toMatchObject({ status: 403, code: 'CROSS_SITE' })
  // Pages of other sites cannot even read, and neither can their images and scripts.
  expect(await (await ask('/events', { 'sec-fetch-site': 'cross-site' })).json()).toMatchObject({
    status: 403,
    code: 'CROSS_SITE',
  })
  expect((await ask('/events', { authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await ask('/events', { 'x-forwarded-for': '192.0.2.1' })).status).toBe(403)
  expect(await asNginx(adminPort, '/api/v1/events')).toMatch(/^HTTP\/1.1 403 /)
  // The cookie of an ended session counts as no cookie.
  const cookie = `hookonce=${'x'.repeat(43)}`
  expect(await (await ask('/session', { cookie })).json()).toMatchObject({ name: 'local:loopback' })
  expect((await ask(path, {}, why)).status).toBe(200)
  expect(await db.rows('select actor from hookonce.audit')).toEqual([{ actor: 'local:loopback' }])
})

test('log-ins that strangers send slowly keep out neither requests nor, later, other log-ins', async () => {
  const { get, post, adminPort } = await adminApi({ args: ['--receive-only'] })
  const slow = Array.from({ length: 80 }, () => {
    const socket = connect(adminPort, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      'POST /api/v1/session HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    )
    return socket
  })
  onTestFinished(() => {
    for (const socket of slow) socket.destroy()
  })
  await until('strangers have taken every place of a log-in', async () => {
    const answer = await post('/session', { token: ADMIN_TOKEN }, { token: null })
    return answer.status === 503
  })
  expect((await get('/events')).status).toBe(200)
  // The connections of stalled senders are closed.
  await until('there is room again', async () => {
    const answer = await post('/session', { token: ADMIN_TOKEN }, { token: null })
    return answer.status === 200
  })
  await until('each stalled log-in is answered or closed', () =>
    slow.every((socket) => socket.readyState !== 'open' || socket.bytesRead > 0),
  )
})
