import { renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../src/gateway/config/config.ts'
import { gateway } from '../../../src/gateway/gateway.ts'
import { stripe } from '../../../src/sources/index.ts'
import { ADMIN_TOKEN } from '../../support/admin-api.ts'
import { type RunningCli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, destination, ENV, FORWARD_SECRET, SECRET, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { receiving, silent } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/* A running gateway applies a changed file. Every test runs `hookonce serve` as a process. */

const RELOADED = 'the configuration was reloaded'
const KEPT = 'the configuration was not reloaded: the old one stays'

interface Ready {
  readonly port: number
  readonly adminPort: number
}

function logged(gateway: RunningCli, message: string): Record<string, unknown>[] {
  return gateway.output.stderr
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.message === message)
}

const SOURCE = { provider: 'stripe', secret: 'env:STRIPE_SECRET' }
const to = (url: string): object => ({ url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] })

function changeableFile(config: unknown) {
  const path = join(temporaryDirectory(), 'hookonce.config.json')
  const write = (next: unknown): void => {
    // Replaces the file at once, like an editor, so that half a file is never read.
    writeFileSync(`${path}.new`, typeof next === 'string' ? next : JSON.stringify(next))
    renameSync(`${path}.new`, path)
  }
  write(config)
  return { path, write }
}

async function status(port: number, path: string, id: string): Promise<number> {
  const body = JSON.stringify({ id, type: 'invoice.paid' })
  const headers = stripe({ secret: SECRET }).sign({ body })
  return (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers })).status
}

/** Delivers continuously until it is stopped. */
function load(port: number, senders: number) {
  let isOver = false
  const statuses: number[] = []
  const send = async (sender: number): Promise<void> => {
    for (let n = 0; !isOver; n += 1) statuses.push(await deliver(port, `evt_${sender}_${n}`))
  }
  const sending = Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)))
  return {
    statuses,
    async stop() {
      isOver = true
      await sending
    },
  }
}

test.each([{ processes: 1 }, { processes: 2 }])(
  'a reload under load loses no delivery and forwards each event once ($processes processes)',
  async ({ processes }) => {
    const db = await freshDatabase()
    const app = await destination()
    const other = await destination()
    const before = { sources: { stripe: SOURCE }, destinations: { app: to(app.url) } }
    const after = {
      sources: { stripe: SOURCE, second: SOURCE },
      destinations: { app: to(app.url), other: { ...to(other.url), sources: ['second'] } },
    }
    const file = changeableFile(before)
    const args = serveArgs(file.path, '--workers', String(processes))
    const gateway = startCli(args, { ...ENV, DATABASE_URL: db.url })
    const { port, adminPort } = await gateway.line<Ready>('adminPort')
    expect(await status(port, '/in/second', 'evt_early')).toBe(404)

    const sending = load(port, 4)
    for (const [n, config] of [after, before, after].entries()) {
      const sent = sending.statuses.length
      await until('deliveries go on', () => sending.statuses.length > sent + 20)
      file.write(config)
      await until(`reload ${n + 1} is done`, () => logged(gateway, RELOADED).length === n + 1)
    }
    // The file has not changed: only the signal causes another read.
    gateway.child.kill('SIGHUP')
    await until('the signal is obeyed', () => logged(gateway, RELOADED).length === 4)
    const sent = sending.statuses.length
    await until('deliveries go on', () => sending.statuses.length > sent + 20)
    await sending.stop()

    expect(new Set(sending.statuses)).toEqual(new Set([202]))
    expect(await status(port, '/in/second', 'evt_second')).toBe(202)
    const total = sending.statuses.length + 1
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(total)
    await until('all is forwarded', async () => {
      const done = await db.number(`select count(*) from hookonce.job where state = 'processed'`)
      return done === total + 1
    })
    expect(app.bodies).toHaveLength(total)
    expect(new Set(app.bodies).size).toBe(total)
    expect(other.bodies).toEqual(['{"id":"evt_second","type":"invoice.paid"}'])
    expect(logged(gateway, KEPT)).toEqual([])
    // Counts continue over reloads: a smaller sum would look like a restart.
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    expect(metrics).toContain(`hookonce_received_total{source="stripe"} ${total - 1}\n`)
    expect(metrics).toContain('hookonce_received_total{source="second"} 1\n')
    expect(await gateway.stop()).toBe(0)
    expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(0)
  },
)

test('a delivery ends with the configuration with which it began', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const config = { sources: { stripe: SOURCE, gone: SOURCE }, destinations: { app: to(app.url) } }
  const file = changeableFile(config)
  // Without a drain, only the delivery itself keeps the old configuration open.
  const gateway = startCli(serveArgs(file.path, '--drain', '0s'), { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<Ready>('port')
  const body = '{"id":"evt_begun","type":"invoice.paid"}'
  const headers = Object.entries({
    ...stripe({ secret: SECRET }).sign({ body }),
    host: 'x',
    'content-length': String(body.length),
    expect: '100-continue',
    connection: 'close',
  })
  const begun = await rawConnection(`http://127.0.0.1:${port}`)
  let answer = ''
  begun.socket.on('data', (chunk) => {
    answer += String(chunk)
  })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  begun.write(`POST /in/gone HTTP/1.1\r\n${lines.join('')}\r\n`)
  await until('its body is waited for', () => answer.includes('100 Continue'))
  const workers = (): Promise<number> =>
    db.number('select count(*) from hookonce.worker where dead_at is null')

  file.write({ ...config, sources: { stripe: SOURCE } })
  await until('the file is in force', () => logged(gateway, RELOADED).length === 1)
  expect(await status(port, '/in/gone', 'evt_late')).toBe(404)
  expect(await workers()).toBe(2)
  begun.write(body)
  expect(await begun.closed()).toContain('202 Accepted')
  expect(await db.number(`select count(*) from hookonce.receipt where event_key = 'evt_begun'`)).toBe(1)
  await until('the old configuration has ended', async () => (await workers()) === 1)
})

test('a forward in progress may end after its destination was removed from the file', async () => {
  const db = await freshDatabase()
  const held: (() => void)[] = []
  const slow = createServer((_, response) => held.push(() => response.writeHead(204).end()))
  const app = await destination()
  const destinations = { app: to(app.url) }
  const config = {
    sources: { stripe: SOURCE },
    destinations: { ...destinations, slow: to(await listening(slow)) },
  }
  const file = changeableFile(config)
  const gateway = startCli(serveArgs(file.path), { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<Ready>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('it is being forwarded', () => held.length === 1)
  file.write({ ...config, destinations })
  await until('the file is in force', () => logged(gateway, RELOADED).length === 1)
  held[0]?.()
  await until('both jobs are done', async () => {
    const done = `select count(*) from hookonce.job where state = 'processed' and attempt = 1`
    return (await db.number(done)) === 2
  })
  expect(held).toHaveLength(1)
})

test('a bad file is reported with its line, and the old configuration stays until the next good one', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const config = { sources: { stripe: SOURCE }, destinations: { app: to(app.url) } }
  const file = changeableFile(config)
  const gateway = startCli(serveArgs(file.path), { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<Ready>('port')
  const bad = [
    { text: '{\n  "sources": {},\n  whsec_written\n}', says: 'hookonce.config.json:3:3 is not JSON' },
    {
      text: JSON.stringify({ ...config, desinations: {} }, null, 2),
      says: 'unknown "desinations" (did you mean "destinations"?)',
    },
    {
      text: JSON.stringify({ ...config, sources: { stripe: { ...SOURCE, secret: 'whsec_written' } } }),
      says: 'sources.stripe.secret: pass the secret as "env:NAME" or "file:/path"',
    },
    {
      text: JSON.stringify({
        ...config,
        sources: { stripe: SOURCE, unheard: SOURCE },
        routes: [{ from: 'stripe', to: 'app' }],
      }),
      says: 'sources.unheard: no destination gets the events of this source. Add the source to `sources` of a destination',
    },
  ]
  for (const [n, { text, says }] of bad.entries()) {
    file.write(text)
    await until(`fault ${n + 1} is reported`, () => logged(gateway, KEPT).length === n + 1)
    expect(String(logged(gateway, KEPT).at(-1)?.error)).toContain(says)
    expect(await deliver(port, `evt_${n}`)).toBe(202)
  }
  file.write({ ...config, sources: { stripe: SOURCE, second: SOURCE }, port: 1, admin: { path: '/ops' } })
  await until('the good one is in force', () => logged(gateway, RELOADED).length === 1)
  expect(await status(port, '/in/second', 'evt_1')).toBe(202)
  const [restart] = logged(gateway, 'some changed options take effect only after a restart')
  expect(restart?.options).toEqual(['port', 'admin.path'])
  expect(gateway.output.stderr).not.toContain('whsec_written')
  expect(gateway.output.stderr).not.toContain(FORWARD_SECRET)
})

test('while the ledger is down the old configuration stays, and the new one follows when the ledger is up', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const file = changeableFile({ sources: { stripe: SOURCE }, destinations: { app: to(app.url) } })
  const gateway = startCli(serveArgs(file.path), { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<Ready>('port')
  // Uses one connection: the pool would close it when idle, and could not open another.
  const client = await db.pool.connect()
  onTestFinished(() => client.release())
  const allowConnections = (allowed: boolean): Promise<unknown> =>
    client.query('update pg_database set datallowconn = $1 where datname = current_database()', [allowed])
  await allowConnections(false)
  file.write({ sources: { stripe: SOURCE, second: SOURCE }, destinations: { app: to(app.url) } })
  await until('it cannot be opened', () => logged(gateway, KEPT).length >= 1)
  // A chore may hold the open connection briefly: the delivery is then refused, and repeated.
  await until('the old one receives', async () => (await deliver(port, 'evt_1')) === 202)
  await allowConnections(true)
  await until('it is tried again', () => logged(gateway, RELOADED).length === 1)
  expect(await status(port, '/in/second', 'evt_2')).toBe(202)
})

test('a reload changes whether views of bodies are in the audit', async () => {
  const db = await freshDatabase()
  const { url } = await destination()
  const withAudit = (auditBodies: 'on' | 'off'): object => ({
    sources: { stripe: SOURCE },
    destinations: { app: to(url) },
    admin: { auditBodies },
  })
  const { path, write } = changeableFile(withAudit('off'))
  const env = { ...ENV, DATABASE_URL: db.url, HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN }
  const gateway = startCli(serveArgs(path), env)
  const { port, adminPort } = await gateway.line<Ready>('adminPort')
  expect(await deliver(port, 'evt_1')).toBe(202)
  const api = `http://127.0.0.1:${adminPort}/api/v1/events`
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const { data } = (await (await fetch(api, { headers })).json()) as { data: { id: string }[] }
  const look = async (): Promise<number> => {
    expect((await fetch(`${api}/${data[0]?.id}/body`, { headers })).status).toBe(200)
    return db.number(`select count(*) from hookonce.audit where action = 'read-body'`)
  }
  expect(await look()).toBe(0)
  write(withAudit('on'))
  await until('it is reloaded', () => logged(gateway, RELOADED).length === 1)
  expect(await look()).toBe(1)
})

test('a stop shortens the time that a replaced configuration has', async () => {
  const db = await freshDatabase()
  const { path } = changeableFile({ sources: { stripe: SOURCE }, destinations: {} })
  const config = await readConfig(path, ENV)
  let started = 0
  const handler = (): Promise<never> => {
    started += 1
    return new Promise(() => undefined)
  }
  const make = () => receiving(db, { sources: config.sources, handler }).hooks
  const serving = gateway({ config, make, works: true, drainMs: 3_600_000, logger: silent })
  await serving.start()
  const { method, headers, body } = stripe({ secret: SECRET }).deliver({
    body: JSON.stringify({ id: 'evt_1', type: 'invoice.paid' }),
  })
  const request = new Request('http://localhost/in/stripe', { method, headers, body })
  expect((await serving.current().fetch(request)).status).toBe(202)
  await until('it hangs', () => started)
  await serving.replace(config)
  await serving.stop({ drainMs: 50 })
  expect(await db.rows('select state::text, crashes from hookonce.job')).toEqual([
    { state: 'received', crashes: 0 },
  ])
})
