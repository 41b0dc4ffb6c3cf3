import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { routes } from '../../../src/gateway/api/routes.ts'
import { stripe } from '../../../src/sources/index.ts'
import { ADMIN_TOKEN, adminApi } from '../../support/admin-api.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { eventStream } from '../../support/event-stream.ts'
import { freePort } from '../../support/free-port.ts'
import { configFile, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { startMcp } from '../../support/mcp.ts'
import { telemetryFile } from '../../support/telemetry-file.ts'
import { until } from '../../support/until.ts'

/*
 * Plants secrets and bodies everywhere, causes every kind of failure, and searches every output:
 * logs, metrics, spans, alerts, the admin API, the command line, answers to senders. The message of
 * an error that a handler throws is the exception: it is stored and logged as it is.
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
async function echo(status = 500): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const repeated = body.includes(REPEATED_CARD) ? body : ''
    response.writeHead(status).end(`${request.headers.authorization} ${repeated} ${request.url}`)
  })
  return listening(server)
}

/** A chat that keeps each message, and fails with an answer that names the secret path. */
async function chat(): Promise<{ readonly url: string; readonly messages: string[] }> {
  const messages: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    messages.push(body)
    response.writeHead(500).end(`no such hook: ${request.url}`)
  })
  return { url: await listening(server), messages }
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
    alerts: {
      everySeconds: 1,
      channels: {
        ops: { type: 'slack', url: 'env:SLACK_URL' },
        team: { type: 'slack', url: 'env:TEAM_URL' },
      },
    },
  }
}

test('no output holds a planted secret, and none but the payload itself holds a body', {
  timeout: 180_000,
}, async () => {
  const db = await freshDatabase()
  const { preloadEnv, text: telemetry, spans } = telemetryFile()
  const database = new URL(db.url)
  expect(database.password.length).toBeGreaterThan(8)
  const team = await chat()
  const env = {
    DATABASE_URL: database.href,
    STRIPE_SECRET: SECRETS.source,
    FORWARD_SECRET: SECRETS.forward,
    BEARER: SECRETS.bearer,
    SLACK_URL: `http://127.0.0.1:${await freePort()}/${SECRETS.slack}`,
    TEAM_URL: `${team.url}/${SECRETS.slack}`,
  }
  const config = gatewayConfig(await echo())
  const { get, post, port, adminPort, base, gateway } = await adminApi({
    db,
    env: { ...env, ...preloadEnv },
    config,
  })
  const outputs = new Map<string, string>()
  const stream = await eventStream(`${base}/stream`, { authorization: `Bearer ${SECRETS.admin}` })
  await stream.next('it is open', ({ data }) => data.type === 'open')

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
  await until('an alert is sent', () => team.messages.length > 0)
  await stream.next('a failed attempt', ({ data }) => /retrying|failed/.test(JSON.stringify(data)))
  await stream.next('a refusal', ({ type }) => type === 'rejected')
  await until('it is logged', () => /attempt retrying|job failed|circuit opened/.test(gateway.output.stderr))

  // The admin API: every read with each token, and its answer to a wrong token.
  const { json } = await post('/tokens', { name: 'reader', role: 'viewer', why: 'a test' })
  const viewer = String(json.token)
  const [{ id }] = (await get('/events')).json.data
  const places: Record<string, string> = { id, source: 'stripe', subscriber: 'app' }
  for (const { method, path } of routes) {
    // The stream was opened before the first delivery.
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

  // An agent, and an app that gets the events of the gateway.
  const from = `http://127.0.0.1:${adminPort}`
  const questions: readonly [string, object][] = [
    ['gateway_status', {}],
    ['find_events', {}],
    ['explain_event', { id }],
    ['read_event_body', { id }],
    ['list_failures', {}],
    ['list_rejections', {}],
    ['list_sources', {}],
    ['list_subscribers', {}],
    ['list_alerts', {}],
    ['read_stats', {}],
    ['read_audit', {}],
    ['plan_event_replay', { id }],
  ]
  for (const token of [viewer, SECRETS.guess]) {
    const mcp = startMcp(from, token)
    const answers = []
    for (const [tool, given] of questions) answers.push(await mcp.ask(tool, given))
    expect(answers.filter((answer) => answer.startsWith('refused')).length).toBe(
      token === viewer ? 1 : questions.length,
    )
    outputs.set(`hookonce mcp ${outputs.size}`, answers.join('\n'))
  }
  const to = `${await echo(400)}/app?token=${SECRETS.query}`
  for (const more of [[], ['--json']]) {
    const args = [
      'listen',
      '--from',
      from,
      '--to',
      to,
      '--since',
      '1h',
      '--dir',
      temporaryDirectory(),
      ...more,
    ]
    const listen = startCli(args, { HOOKONCE_TOKEN: SECRETS.admin })
    await until('the events are sent to the app', () => listen.output.stdout.match(/evt_[12]/g)?.length === 2)
    expect(await listen.stop('SIGINT')).toBe(0)
    outputs.set(`hookonce listen ${more}`, listen.output.stdout + listen.output.stderr)
  }

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
  const file = configFile(config)
  const { FORWARD_SECRET: _, ...lacking } = env
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
  for (const given of [env, lacking, { ...env, DATABASE_URL: refused.href }])
    for (const more of [[], ['--json']]) {
      const args = ['doctor', '--config', file, '--port', '0', '--admin-port', '0', ...more]
      const ran = await cli(args, given)
      expect(ran.stdout).toContain('database')
      outputs.set(`hookonce doctor at ${outputs.size}`, ran.stdout + ran.stderr)
    }
  const checked = await cli(serveArgs(file, '--check'), env)
  outputs.set('hookonce serve --check', checked.stdout + checked.stderr)
  const wrong = await cli(serveArgs(configFile({ ...config, admin: { token: SECRETS.guess } })), lacking)
  expect(wrong.code).not.toBe(0)
  outputs.set('hookonce serve, wrong', wrong.stdout + wrong.stderr)

  expect(await gateway.stop()).toBe(0)
  outputs.set('GET /stream', stream.events.map(({ data }) => JSON.stringify(data)).join('\n'))
  outputs.set('alerts', team.messages.join('\n'))
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
  expect(told.filter((name) => /^(logs|spans|metrics|answer|alerts|hookonce listen)/.test(name))).toEqual([])
})

test('the output of dev holds no planted secret, and no body', async () => {
  const database = new URL((await freshDatabase()).url)
  const target = `${await echo()}/app?token=${SECRETS.query}`
  const env = { DATABASE_URL: database.href, STRIPE_WEBHOOK_SECRET: SECRETS.source }
  const body = JSON.stringify({ card: CARD, id: 'evt_1', type: 'invoice.paid' })
  const { sign } = stripe({ secret: SECRETS.source })
  for (const more of [[], ['--json']]) {
    const dir = temporaryDirectory()
    const running = startCli(['dev', '--port', '0', '--dir', dir, '--forward-to', target, ...more], env)
    const { output } = running
    const port = await until('it is ready', () => /127\.0\.0\.1:(\d+)\/in\/demo/.exec(output.stdout)?.[1])
    for (const headers of [sign({ body }), { 'stripe-signature': `t=1,v1=${'ab'.repeat(32)}` }, {}])
      await fetch(`http://127.0.0.1:${port}/in/stripe`, {
        method: 'POST',
        body,
        headers: { ...headers, authorization: SECRETS.senderHeader },
      })
    await fetch(`http://127.0.0.1:${port}/in/nobody`, { method: 'POST', body })
    const all = (): string => output.stdout + output.stderr
    await until('the deliveries and the failed request are logged', () =>
      [/SIGNATURE_MISMATCH/, /SIGNATURE_MISSING/, /FORWARD_FAILED|answered 500/].every((line) =>
        line.test(all()),
      ),
    )
    expect(await running.stop('SIGINT')).toBe(0)
    const local = ['demo-secret', 'forward-secret'].map((name) =>
      readFileSync(join(dir, name), 'utf8').trim(),
    )
    const secrets = [...Object.values(SECRETS), ...local, database.password, CARD]
    expect(secrets.filter((secret) => all().includes(secret))).toEqual([])
  }
})
