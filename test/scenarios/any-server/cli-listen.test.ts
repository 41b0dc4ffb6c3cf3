import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN, type AdminApi, type AdminApiOptions, adminApi } from '../../support/admin-api.ts'
import { cli, type RunningCli, startCli, temporaryDirectory } from '../../support/cli.ts'
import type { TestDatabase } from '../../support/database.ts'
import { configTo, deliver, destination } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

/* Events of a gateway at the app of a developer, in addition to the gateway's own destination. */

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly url: string
  readonly body: string
  readonly key: string
}

interface App {
  readonly url: string
  readonly received: Received[]
  /** The status of its answers, after the statuses that were given at its start. */
  usual: number
  /** The largest number of requests that were open at once. */
  mostOpen: number
  /** Keys of the events, in the order of arrival. */
  keys(): string[]
}

/**
 * An app that answers each request with the next of these statuses, and later with the usual one.
 */
async function localApp(...statuses: number[]): Promise<App> {
  const received: Received[] = []
  let open = 0
  const server = createServer(async (request, response) => {
    open += 1
    app.mostOpen = Math.max(app.mostOpen, open)
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push({ headers: request.headers, url: request.url ?? '', body, key: JSON.parse(body).id })
    await setImmediate()
    open -= 1
    response.writeHead(statuses.shift() ?? app.usual).end('seen')
  })
  const keys = (): string[] => received.map(({ key }) => key)
  const app: App = { url: await listening(server), received, usual: 200, mostOpen: 0, keys }
  return app
}

interface Line {
  readonly eventKey?: string
  readonly outcome?: string
  readonly connection?: string
  readonly [field: string]: unknown
}

function linesOf({ output }: RunningCli): Line[] {
  const whole = output.stdout.slice(0, output.stdout.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
}

interface ListenOptions {
  readonly dir: string
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
}

/** Resolves when the command follows new events. */
async function startListen(from: string, to: string, options: ListenOptions): Promise<RunningCli> {
  const { dir, args = [], env = {} } = options
  const running = startCli(['listen', '--from', from, '--to', to, '--json', '--dir', dir, ...args], {
    HOOKONCE_TOKEN: ADMIN_TOKEN,
    ...env,
  })
  await running.line('ready')
  return running
}

/** A gateway whose destination gets every type. */
async function gatewayTo(url: string, options: AdminApiOptions = {}): Promise<AdminApi> {
  const app = { url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] }
  return adminApi({ ...options, config: { ...configTo(url), destinations: { app } } })
}

/** A gateway that only receives: its jobs wait. */
async function receiver(options: { db?: TestDatabase; adminPort?: number } = {}): Promise<AdminApi> {
  const { db, adminPort = 0 } = options
  const args = ['--receive-only', '--admin-port', String(adminPort)]
  return gatewayTo('http://127.0.0.1:9/hooks', { ...(db && { db }), args })
}

/** An address without a listener. */
async function closedPort(): Promise<string> {
  const server = createServer()
  const url = await listening(server)
  server.close()
  await once(server, 'close')
  return url
}

const fromOf = ({ adminPort }: AdminApi): string => `http://127.0.0.1:${adminPort}`

function outcome(listener: RunningCli, key: string, wanted: string): Promise<Line> {
  return until(`${key} is ${wanted}`, () =>
    linesOf(listener).find(({ eventKey, outcome }) => eventKey === key && outcome === wanted),
  )
}

/** The attempts of the gateway for its own destination. */
async function ownWork(db: TestDatabase) {
  return {
    jobs: await db.rows(
      'select receipt_id, state::text, attempt, fence, reason from hookonce.job order by 1',
    ),
    attempts: await db.rows('select receipt_id, number, outcome::text from hookonce.attempt order by 1, 2'),
  }
}

test('an app that fails twice gets the bytes and headers again, and the destination is left alone', async () => {
  const own = await destination()
  const api = await gatewayTo(own.url)
  const app = await localApp(500, 503)
  const token = await api.token({ name: 'laptop', role: 'viewer', bodies: true })
  const dir = temporaryDirectory()
  expect(await deliver(api.port, 'evt_before')).toBe(202)
  const listener = await startListen(fromOf(api), `${app.url.replace('http://', '')}/hooks?a=1`, {
    dir,
    env: { HOOKONCE_TOKEN: token },
  })
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  expect(await deliver(api.port, 'evt_2', 'customer.created')).toBe(202)
  await outcome(listener, 'evt_2', 'delivered')
  await until('the destination got its own', () => own.bodies.length === 3)
  await until('its jobs are processed', async () =>
    (await ownWork(api.db)).jobs.every(({ state }) => state === 'processed'),
  )

  expect(app.keys()).toEqual(['evt_1', 'evt_1', 'evt_1', 'evt_2'])
  const shown = linesOf(listener).filter(({ eventKey }) => eventKey !== undefined)
  expect(shown).toMatchObject([
    { eventKey: 'evt_1', outcome: 'retry', attempt: 1, status: 500, retryInMs: 500 },
    { eventKey: 'evt_1', outcome: 'retry', attempt: 2, status: 503, retryInMs: 1000 },
    { eventKey: 'evt_1', outcome: 'delivered', attempt: 3, status: 200, source: 'stripe' },
    { eventKey: 'evt_2', outcome: 'delivered', attempt: 1, eventType: 'customer.created' },
  ])
  const [first, , third] = app.received
  expect(first).toMatchObject({ url: '/hooks?a=1', body: '{"id":"evt_1","type":"invoice.paid"}' })
  expect(third?.headers).toMatchObject({
    'webhook-id': shown[0]?.receiptId,
    'hookonce-source': 'stripe',
    'hookonce-event-key': 'evt_1',
    'hookonce-event-type': 'invoice.paid',
    'hookonce-listen': '1',
    'hookonce-attempt': '3',
    'stripe-signature': expect.stringMatching(/^t=/),
  })
  expect(third?.headers).not.toHaveProperty('webhook-signature')
  expect(third?.headers).not.toHaveProperty('authorization')
  // Only the destination's jobs exist, and each took one attempt.
  const { jobs } = await ownWork(api.db)
  expect(jobs).toMatchObject([{ attempt: 1 }, { attempt: 1 }, { attempt: 1 }])
  expect(own.bodies).toHaveLength(3)
  expect(await listener.stop('SIGINT')).toBe(0)
  expect(linesOf(listener).at(-1)).toEqual({
    summary: { delivered: 2, refused: 0, failed: 0, skipped: 0, retries: 2 },
  })
  expect(listener.output.stdout + listener.output.stderr).not.toContain(token)
})

test('an app that succeeds acknowledges nothing for a destination that fails; a body that is gone is skipped', async () => {
  const failing = createServer((_, response) => response.writeHead(400).end())
  const api = await gatewayTo(`${await listening(failing)}/hooks`)
  const app = await localApp()
  expect(await deliver(api.port, 'evt_0')).toBe(202)
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  await until('the first attempts have failed', async () => (await ownWork(api.db)).attempts.length > 1)
  await api.gateway.stop()
  await api.db.rows(`update hookonce.receipt set body = null, headers = null where event_key = 'evt_0'`)
  const receiving = await receiver({ db: api.db })
  const before = await ownWork(api.db)
  const listener = await startListen(fromOf(receiving), app.url, {
    dir: temporaryDirectory(),
    args: ['--since', '1h'],
  })
  await outcome(listener, 'evt_1', 'delivered')
  const gone = await outcome(listener, 'evt_0', 'skipped')
  expect(gone.reason).toContain('BODY_EXPIRED')
  await listener.stop('SIGINT')
  expect(app.keys()).toEqual(['evt_1'])
  expect(await ownWork(api.db)).toEqual(before)
  expect(before.jobs).toHaveLength(2)
  expect(before.jobs.filter(({ state }) => state === 'processed')).toEqual([])
})

test('a restart of listener and gateway leaves no gap and repeats nothing; filters hold', async () => {
  const api = await receiver()
  const app = await localApp()
  const dir = temporaryDirectory()
  const args = ['--source', 'stripe', '--type', 'invoice.*']
  const first = await startListen(fromOf(api), app.url, { dir, args })
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  expect(await deliver(api.port, 'cus_1', 'customer.created')).toBe(202)
  expect(await deliver(api.port, 'evt_2', 'invoice.voided')).toBe(202)
  await outcome(first, 'evt_2', 'delivered')
  expect(await first.stop('SIGINT')).toBe(0)

  expect(await deliver(api.port, 'evt_3')).toBe(202)
  expect(await deliver(api.port, 'cus_2', 'customer.created')).toBe(202)
  await api.gateway.stop()
  const again = await receiver(api)
  expect(await deliver(again.port, 'evt_4')).toBe(202)
  const second = await startListen(fromOf(api), app.url, { dir, args })
  expect(await second.line('ready')).toMatchObject({ resumed: true })
  await outcome(second, 'evt_4', 'delivered')

  await again.gateway.stop()
  await until('the listener notices', () => linesOf(second).some(({ connection }) => connection === 'lost'))
  const third = await receiver(api)
  expect(await deliver(third.port, 'evt_5')).toBe(202)
  await outcome(second, 'evt_5', 'delivered')
  expect(linesOf(second).some(({ connection }) => connection === 'restored')).toBe(true)
  expect(await deliver(third.port, 'evt_6')).toBe(202)
  await outcome(second, 'evt_6', 'delivered')
  expect(await second.stop('SIGINT')).toBe(0)
  expect(app.keys()).toEqual(['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5', 'evt_6'])

  // With other filters it is another listener, which begins now. --since begins earlier.
  const other = await startListen(fromOf(api), app.url, {
    dir,
    args: ['--type', 'customer.*', '--type', 'invoice.voided', '--since', '1h'],
  })
  await outcome(other, 'cus_2', 'delivered')
  await other.stop('SIGINT')
  expect(app.keys().slice(6)).toEqual(['cus_1', 'evt_2', 'cus_2'])
  const kept = readdirSync(dir).filter((file) => file.startsWith('listen-'))
  expect(kept).toHaveLength(2)
  for (const file of kept) expect(readFileSync(join(dir, file), 'utf8')).not.toContain(ADMIN_TOKEN)
})

test('events of a burst are sent one at a time, each once', async () => {
  const api = await receiver()
  const app = await localApp()
  const { port } = new URL(app.url)
  const listener = await startListen(fromOf(api), port, { dir: temporaryDirectory() })
  // More than one page of the list.
  const keys = Array.from({ length: 250 }, (_, index) => `evt_${index}`)
  expect(new Set(await Promise.all(keys.map((key) => deliver(api.port, key))))).toEqual(new Set([202]))
  // Requests come one after the other, two per event.
  await until('all have come', () => app.received.length >= keys.length, 100_000)
  expect(await deliver(api.port, 'evt_last')).toBe(202)
  await outcome(listener, 'evt_last', 'delivered')
  expect(app.keys().sort()).toEqual([...keys, 'evt_last'].sort())
  expect(app.mostOpen).toBe(1)
})

test('an event whose attempt was stopped is sent again; a 4xx is final; an app that is down is given up', async () => {
  const api = await receiver()
  const app = await localApp()
  app.usual = 500
  const dir = temporaryDirectory()
  const secret = `whsec_${Buffer.from('a secret of this machine only').toString('base64')}`
  const options = { dir, args: ['--secret', 'env:LOCAL_SECRET'], env: { LOCAL_SECRET: secret } }
  const first = await startListen(fromOf(api), app.url, options)
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  await outcome(first, 'evt_1', 'retry')
  expect(await first.stop('SIGINT')).toBe(0)
  app.usual = 404
  const second = await startListen(fromOf(api), app.url, options)
  await outcome(second, 'evt_1', 'refused')
  app.usual = 200
  expect(await deliver(api.port, 'evt_2')).toBe(202)
  await outcome(second, 'evt_2', 'delivered')
  await second.stop('SIGINT')
  const keys = app.keys()
  expect(keys.filter((key) => key === 'evt_2')).toHaveLength(1)
  const sent = app.received.at(-1)
  const verified = new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>)
  expect(verified).toEqual({ id: 'evt_2', type: 'invoice.paid' })

  const down = await startListen(fromOf(api), await closedPort(), { dir, args: ['--since', '1h'] })
  const given = await outcome(down, 'evt_1', 'failed')
  expect(given).toMatchObject({ attempt: 5, error: expect.stringContaining('ECONNREFUSED') })
  expect(linesOf(down).filter(({ outcome }) => outcome === 'retry')).toHaveLength(4)
  await down.stop('SIGINT')
})

test('a wrong token, one without bodies, and a wrong address are explained, and no token is printed', async () => {
  const api = await receiver()
  const dir = temporaryDirectory()
  const blind = await api.token({ name: 'blind', role: 'viewer' })
  const page = await listening(createServer((_, response) => response.end('<html>')))
  const listen = (from: string, token: string, ...more: string[]) =>
    cli(['listen', '--from', from, '--to', 'localhost:3000', '--dir', dir, ...more], {
      HOOKONCE_TOKEN: token,
    })
  const advice = 'hookonce token create laptop --role viewer --bodies'
  const cases = [
    { ran: await listen(fromOf(api), 'hko_wrong'), says: ['refuses the token', advice] },
    { ran: await listen(fromOf(api), ''), says: ['there is no token', advice] },
    { ran: await listen(fromOf(api), blind), says: ['"blind" may not read bodies', advice] },
    {
      ran: await listen(await closedPort(), ADMIN_TOKEN),
      says: ['does not answer', 'ECONNREFUSED', '--from'],
    },
    { ran: await listen(page, ADMIN_TOKEN), says: ['no usable admin API', 'admin listener'] },
    { ran: await listen('gateway', ADMIN_TOKEN), says: ['--from must be a URL'] },
    { ran: await listen('https://ann:pw1@host', ADMIN_TOKEN), says: ['must hold no user'] },
    {
      ran: await listen(fromOf(api), ADMIN_TOKEN, '--secret', 'env:HOOKONCE_TOKEN'),
      says: ['--secret', 'whsec_'],
    },
    { ran: await listen(fromOf(api), '', '--token', 'hko_plain'), says: ['--token', 'env:NAME'] },
    { ran: await listen(fromOf(api), '', '--token', 'env:NOT_SET_HERE'), says: ['NOT_SET_HERE'] },
  ]
  for (const { ran, says } of cases) {
    expect(ran.code).toBe(1)
    for (const text of says) expect(ran.stderr).toContain(text)
    expect(ran.stdout + ran.stderr).not.toMatch(/hko_wrong|hko_plain|pw1|the-admin-token/)
    expect(ran.stdout + ran.stderr).not.toContain(blind)
    expect(ran.stderr).not.toContain('    at ')
  }
})
