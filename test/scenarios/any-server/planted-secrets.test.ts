import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { routes } from '../../../src/gateway/api/routes.ts'
import { stripe } from '../../../src/sources/index.ts'
import { ADMIN_TOKEN, adminApi } from '../../support/admin-api.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { configFile, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { telemetryFile } from '../../support/telemetry-file.ts'
import { until } from '../../support/until.ts'

/*
 * Plants secrets and bodies everywhere, causes every kind of failure, and searches every output:
 * logs, metrics, spans, the admin API, the command line, answers to senders.
 */

const signing = (text: string): string => `whsec_${Buffer.from(text).toString('base64')}`

/** Must be in no output at all. */
const SECRETS = {
  source: 'whsec_planted_source',
  forward: signing('planted key that signs forwards'),
  bearer: 'planted-bearer-of-the-destination',
  query: 'planted-token-in-the-url',
  admin: ADMIN_TOKEN,
  database: 'planted-database-password',
  slack: 'planted-path-of-the-slack-hook',
  senderHeader: 'planted-authorization-of-the-sender',
  guess: 'planted-wrong-admin-token',
}
/** In the body of an event that its destination echoes. The ledger keeps this answer. */
const REPEATED_CARD = '4242-0000-1111-2222'
/** In the body of another event. Only callers that may read bodies see it. */
const CARD = '4000-5555-6666-7777'

/** A destination in debug mode: it refuses every request, and echoes it. */
async function echo(): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const repeated = body.includes(REPEATED_CARD) ? body : ''
    response.writeHead(500).end(`${request.headers.authorization} ${repeated} ${request.url}`)
  })
  return listening(server)
}

function gatewayConfig(url: string): object {
  return {
    sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
    destinations: {
      app: {
        url: `${url}/hooks?token=${SECRETS.query}`,
        secret: 'env:FORWARD_SECRET',
        auth: { type: 'bearer', token: 'env:BEARER' },
        allowPrivate: ['127.0.0.1'],
        retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 },
        circuit: { minSamples: 2 },
      },
    },
    alerts: { everySeconds: 1, channels: { ops: { type: 'slack', url: 'env:SLACK_URL' } } },
  }
}

test('no output holds a planted secret, and none but the payload itself holds a body', {
  timeout: 180_000,
}, async () => {
  const db = await freshDatabase()
  const { preloadEnv, text: telemetry, spans } = telemetryFile()
  const database = new URL(db.url)
  expect(database.password.length).toBeGreaterThan(8)
  const env = {
    DATABASE_URL: database.href,
    STRIPE_SECRET: SECRETS.source,
    FORWARD_SECRET: SECRETS.forward,
    BEARER: SECRETS.bearer,
    SLACK_URL: `http://127.0.0.1:${await freePort()}/${SECRETS.slack}`,
  }
  const config = gatewayConfig(await echo())
  const { get, post, port, adminPort, base, gateway } = await adminApi({
    db,
    env: { ...env, ...preloadEnv },
    config,
  })
  const outputs = new Map<string, string>()

  async function send(path: string, body: string, headers: Record<string, string>): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body,
      headers: { ...headers, authorization: SECRETS.senderHeader },
    })
    outputs.set(
      `answer ${outputs.size} ${path}`,
      `${JSON.stringify([...response.headers])}${await response.text()}`,
    )
  }
  const { sign } = stripe({ secret: SECRETS.source })
  const event = (id: string, card: string): string =>
    JSON.stringify({ card, id, type: 'invoice.paid', data: { object: { id: `in_${id}` } } })
  const signatures: string[] = []
  async function deliver(body: string): Promise<void> {
    const headers = sign({ body })
    signatures.push(...Object.values(headers).map((value) => value.split('v1=').at(-1) ?? value))
    await send('/in/stripe', body, headers)
  }
  await deliver(event('evt_1', REPEATED_CARD))
  await deliver(event('evt_2', CARD))
  await deliver(event('evt_2', CARD))
  await deliver(JSON.stringify({ card: CARD, changed: true, id: 'evt_2', type: 'invoice.paid' }))
  await deliver(`not JSON ${CARD}`)
  await deliver(JSON.stringify({ card: CARD }))
  await send('/in/stripe', event('evt_3', CARD), { 'stripe-signature': `t=1,v1=${'ab'.repeat(32)}` })
  await send('/in/stripe', event('evt_4', CARD), {})
  await send('/in/nobody', event('evt_5', CARD), {})
  const failed = `select count(*) from hookonce.job where state in ('failed', 'retrying')`
  await until('jobs have failed', async () => (await db.number(failed)) >= 2)
  await until('an attempt is exported', () => spans().some(({ name }) => name === 'POST'))
  await until('it is logged', () => /attempt retrying|job failed|circuit opened/.test(gateway.output.stderr))

  // The admin API: every read with each token, and its answer to a wrong token.
  const { json } = await post('/tokens', { name: 'reader', role: 'viewer', why: 'a test' })
  const viewer = String(json.token)
  const [{ id }] = (await get('/events')).json.data
  const places: Record<string, string> = { id, source: 'stripe', subscriber: 'app' }
  for (const { method, path } of routes) {
    if (method !== 'GET' || path === '/stream') continue
    const place = path.replace(/\{(\w+)\}/g, (_, name: string) => places[name] ?? 'none')
    for (const token of [viewer, SECRETS.guess]) {
      const answer = await get(place, { token, headers: { 'x-noise': SECRETS.guess } })
      outputs.set(`GET ${place}`, `${outputs.get(`GET ${place}`) ?? ''}${answer.text}`)
    }
  }
  outputs.set('GET /tokens as admin', (await get('/tokens')).text)
  outputs.set('GET /destinations as admin', (await get('/destinations')).text)
  for (const accept of ['text/plain', 'application/openmetrics-text']) {
    const headers = { accept, authorization: `Bearer ${SECRETS.admin}` }
    const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`, { headers })
    outputs.set(`metrics as ${accept}`, await response.text())
  }
  expect(outputs.get('metrics as application/openmetrics-text')).toContain('# {trace_id="')

  // The command line, also without a reachable database.
  const plain = ['status', 'failures', `show ${id}`]
  const more = [
    'stats',
    'events',
    'attention list',
    'outbox',
    'rejections',
    'subscribers',
    'audit',
    'token list',
  ]
  for (const command of [...plain, ...[...plain, ...more, 'alerts'].map((text) => `${text} --json`)]) {
    const ran = await cli(command.split(' '), env)
    expect([command, ran.code]).toEqual([command, 0])
    outputs.set(`hookonce ${command}`, ran.stdout + ran.stderr)
  }
  const unreachable = new URL(database)
  unreachable.port = String(await freePort())
  const refused = new URL(database)
  refused.password = SECRETS.database
  for (const command of ['status', 'migrate'])
    for (const { href } of [unreachable, refused]) {
      const ran = await cli([command], { ...env, DATABASE_URL: href })
      expect(ran.code).not.toBe(0)
      outputs.set(`hookonce ${command} at ${outputs.size}`, ran.stdout + ran.stderr)
    }
  const checked = await cli(serveArgs(configFile(config), '--check'), env)
  outputs.set('hookonce serve --check', checked.stdout + checked.stderr)
  const { FORWARD_SECRET: _, ...lacking } = env
  const wrong = await cli(serveArgs(configFile({ ...config, admin: { token: SECRETS.guess } })), lacking)
  expect(wrong.code).not.toBe(0)
  outputs.set('hookonce serve, wrong', wrong.stdout + wrong.stderr)

  expect(await gateway.stop()).toBe(0)
  outputs.set('logs', gateway.output.stdout + gateway.output.stderr)
  outputs.set('spans and metrics of OpenTelemetry', telemetry())
  expect(base).not.toBe('')

  const secrets = [...Object.values(SECRETS), database.password, viewer]
  const found = [...outputs].flatMap(([name, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`),
  )
  expect(found).toEqual([])

  // Headers are shown with their event, to callers that may read the ledger.
  const signed = signatures.filter((text) => text.length > 20)
  const shown = [...outputs].filter(([, text]) => signed.some((signature) => text.includes(signature)))
  expect(shown.map(([name]) => name)).toEqual([`hookonce show ${id} --json`])

  const bodies = [...outputs].filter(([name]) => !/\/body$/.test(name))
  expect(bodies.filter(([, text]) => text.includes(CARD)).map(([name]) => name)).toEqual([
    `hookonce show ${id}`,
    `hookonce show ${id} --json`,
  ])
  const told = bodies.filter(([, text]) => text.includes(REPEATED_CARD)).map(([name]) => name)
  expect(told.filter((name) => /^(logs|spans|metrics|answer)/.test(name))).toEqual([])
})
