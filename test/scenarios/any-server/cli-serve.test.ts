import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, MAIN, startCli, startProgram, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import {
  configFile,
  configTo,
  deliver,
  destination,
  ENV,
  FORWARD_SECRET,
  SECRET,
  serveArgs,
} from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { ownServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

test('serve receives, records and forwards by its configuration', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const gateway = startCli(serveArgs(configFile(configTo(app.url))), { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  expect(await deliver(port, 'evt_1')).toBe(200)
  expect(await deliver(port, 'evt_2', 'customer.created')).toBe(200)
  await until('it is forwarded', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  expect(await gateway.stop()).toBe(0)

  expect(app.bodies).toEqual(['{"id":"evt_1","type":"invoice.paid"}'])
  expect(await db.rows('select event_key from hookonce.receipt')).toEqual([{ event_key: 'evt_1' }])
  expect(await db.rows('select count from hookonce.duplicate')).toEqual([{ count: 1 }])
  expect(await db.rows('select name, pattern from hookonce.subscriber')).toEqual([
    { name: 'app', pattern: 'invoice.*' },
  ])
  expect(gateway.output.stderr).not.toContain(SECRET)
  expect(gateway.output.stderr).not.toContain(FORWARD_SECRET)
})

test('the sample of the reference starts as copied', async () => {
  const reference = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8')
  const [, config = ''] = /<!-- the sample configuration -->\n```json\n([\s\S]*?)^```$/m.exec(reference) ?? []
  const [, commands = ''] = /<!-- the sample commands -->\n```sh\n([\s\S]*?)^```$/m.exec(reference) ?? []
  const dir = temporaryDirectory()
  writeFileSync(join(dir, 'hookonce.json'), config)
  expect(commands).toMatch(/^npx hookonce serve$/m)
  // The only change: free ports.
  const run = commands.replace('npx hookonce serve', `exec node ${MAIN} serve --port 0`)
  const gateway = startProgram('sh', ['-e', '-c', run], { cwd: dir })
  const { port } = await gateway.line<{ port: number }>('port')
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  const listed = await cli(['events', '--json', '--dir', join(dir, '.hookonce')])
  expect(listed.json()).toEqual([])
  expect(await gateway.stop()).toBe(0)
})

test('one process receives only, another works only', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const env = { ...ENV, DATABASE_URL: db.url }
  const path = configFile(configTo(app.url))
  const receiver = startCli(serveArgs(path, '--receive-only'), env)
  const { port } = await receiver.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'received' }])

  const worker = startCli(serveArgs(path, '--work-only'), env)
  const working = await worker.line<{ port: number }>('port')
  expect(await deliver(working.port, 'evt_2')).toBe(404)
  await until('it is forwarded', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  expect(app.bodies).toHaveLength(1)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test.each([
  {
    name: 'a secret that is written in the file',
    config: { sources: { stripe: { provider: 'stripe', secret: 'whsec_written' } }, destinations: {} },
    says: ['CONFIG_INVALID', 'sources.stripe.secret', '"env:NAME" or "file:/path"'],
  },
  {
    name: 'a secret that the environment lacks',
    config: { sources: { stripe: { provider: 'stripe', secret: 'env:NOT_THERE' } }, destinations: {} },
    says: ['SECRET_MISSING', 'sources.stripe.secret', 'NOT_THERE'],
  },
  {
    name: 'an unknown key',
    config: { sources: {}, destinations: {}, retries: 3 },
    says: ['CONFIG_INVALID', '"retries"', 'allowed: sources, destinations'],
  },
  {
    name: 'a file without destinations',
    config: { sources: {} },
    says: ['CONFIG_INVALID', 'destinations: add at least one destination', '"secret": "env:NAME"'],
  },
  {
    name: 'a destination whose secret the environment lacks, and speaks of no source',
    config: {
      sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
      destinations: { app: { url: 'http://127.0.0.1:1/', secret: 'env:NOT_THERE' } },
    },
    says: ['destinations.app.secret: the environment variable NOT_THERE is empty or not set'],
    not: ['the source'],
  },
  {
    name: 'a source that no destination gets, in the words of the gateway',
    config: {
      sources: {
        stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' },
        other: { provider: 'stripe', secret: 'env:STRIPE_SECRET' },
      },
      destinations: {
        app: { url: 'https://app.example/', secret: 'env:FORWARD_SECRET', sources: ['stripe'] },
      },
    },
    says: [
      'DESTINATION_MISSING',
      'sources.other: no destination gets the events of this source',
      'add a route',
      '"unwanted": "record"',
    ],
    not: ['.on(', 'handler'],
  },
  { name: 'no JSON', config: '{"sources":', says: ['CONFIG_INVALID', 'is not JSON'] },
])('serve refuses $name', async ({ config, says, not = [] }) => {
  const ended = await cli(serveArgs(configFile(config)), {
    ...ENV,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
  })
  expect(ended.code).toBe(1)
  for (const text of says) expect(ended.stderr).toContain(text)
  for (const text of ['whsec_written', ...not]) expect(ended.stderr).not.toContain(text)
  expect(ended.stderr).not.toMatch(/^\s+at /m)
})

test('serve without a file names the expected file and the option', async () => {
  const ended = await cli(serveArgs('/not/there.json'))
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('/not/there.json cannot be read')
  expect(ended.stderr).toContain('--config')
})

test('a port that is taken ends serve with PORT_TAKEN', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const { port } = new URL(app.url)
  const path = configFile(configTo(app.url))
  const ended = await cli(['serve', '--config', path, '--host', '127.0.0.1', '--port', port], {
    ...ENV,
    DATABASE_URL: db.url,
  })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('PORT_TAKEN')
  // The process has released its lease, so nobody waits for the lease to expire.
  expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(0)
})

test.each(['serve', 'dev'])(
  '%s refuses a schema of a newer hookonce, and works where that one allows it',
  async (command) => {
    const db = await freshDatabase()
    const app = await destination()
    const env = { ...ENV, DATABASE_URL: db.url }
    const args =
      command === 'serve'
        ? serveArgs(configFile(configTo(app.url)))
        : ['dev', '--port', '0', '--dir', temporaryDirectory(), '--json']
    await db.pool.query(
      `insert into hookonce.migration (id, name, oldest_binary) values (999, '0999-later', 999)`,
    )
    const refused = await cli(args, env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('SCHEMA_NEWER')
    expect(refused.stderr).toContain('0999-later')

    await db.pool.query('update hookonce.migration set oldest_binary = 1 where id = 999')
    const running = startCli(args, env)
    expect(await running.line<{ port: number }>('port')).toHaveProperty('port')
    expect(await running.stop()).toBe(0)
  },
)

// Uses its own server: other tests use the shared servers.
test('while the database is down readyz is 503, healthz 200 and metrics continue; afterwards all recover', async () => {
  const server = await ownServer()
  const app = await destination()
  const gateway = startCli(serveArgs(configFile(configTo(app.url))), {
    ...ENV,
    DATABASE_URL: server.db.url,
  })
  const { port, adminPort } = await gateway.line<{ port: number; adminPort: number }>('adminPort')
  const status = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  expect(await status('/readyz')).toBe(200)
  await server.stop()
  expect(await deliver(port, 'evt_1')).toBe(503)
  await until('it is not ready', async () => (await status('/readyz')) === 503)
  expect(await status('/healthz')).toBe(200)
  const down = await until('the ledger is reported as down', async () => {
    const text = await metrics()
    return text.includes('hookonce_ledger_up 0') ? text : undefined
  })
  expect(down).toContain('hookonce_rejected_total{source="stripe",reason="LEDGER_DOWN"} 1')
  expect(down).not.toContain('hookonce_jobs_waiting{')
  await server.start()
  await until('it is ready again', async () => (await status('/readyz')) === 200)
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('it is forwarded', () => app.bodies.length === 1)
  await until('the ledger is read again', async () => (await metrics()).includes('hookonce_ledger_up 1'))
  expect(await server.db.number('select count(*) from hookonce.receipt')).toBe(1)
})

interface SeveralReady {
  readonly port: number
  readonly adminPort: number
  readonly processes: number[]
}

test('several processes share one port: each event once, metrics added up, a killed one replaced, all drained', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const gateway = startCli(serveArgs(configFile(configTo(app.url)), '--workers', '2'), {
    ...ENV,
    DATABASE_URL: db.url,
  })
  const { port, adminPort, processes } = await gateway.line<SeveralReady>('processes')
  expect(processes).toHaveLength(2)

  const copies = Array.from({ length: 40 }, (_, n) => deliver(port, `evt_${n % 20}`))
  const statuses = await Promise.all(copies)
  expect(statuses.filter((status) => status === 202)).toHaveLength(20)
  expect(statuses.filter((status) => status === 200)).toHaveLength(20)
  await until('all are forwarded', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 20
  })
  expect(app.bodies).toHaveLength(20)
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  expect(metrics).toContain('hookonce_received_total{source="stripe"} 20\n')
  expect(metrics).toContain('hookonce_duplicate_total{source="stripe"} 20\n')

  const [victim] = processes
  if (victim === undefined) throw new Error('no process was named')
  process.kill(victim, 'SIGKILL')
  await gateway.line<{ pid: number }>('pid')
  await until('it receives with the other one, and with another in its place', async () => {
    const workers = await db.number('select count(*) from hookonce.worker where dead_at is null')
    return workers >= 2 && (await deliver(port, 'evt_0').catch(() => 0)) === 200
  })
  expect(await gateway.stop()).toBe(0)
  await expect(deliver(port, 'evt_0')).rejects.toThrow()
})

test('several processes that cannot start report the reason once', async () => {
  const gateway = await cli(serveArgs(configFile(configTo('http://127.0.0.1:1/')), '--workers', '2'), {
    ...ENV,
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  })
  expect(gateway.code).toBe(1)
  expect(gateway.stderr).toContain('DATABASE_UNREACHABLE')
})

test.each(['0', 'two', '65', '-1'])('--workers %s is refused', async (count) => {
  const refused = await cli(serveArgs(configFile(configTo('http://127.0.0.1:1/')), `--workers=${count}`), ENV)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(`--workers must be a number from 1 to 64, not "${count}"`)
})

test('work that is unfinished at the end of the drain is handed back, and does not count', async () => {
  const db = await freshDatabase()
  const asked: string[] = []
  const slow = createServer((request) => void asked.push(request.url ?? ''))
  const args = serveArgs(configFile(configTo(await listening(slow))), '--drain', '0s')
  const gateway = startCli(args, { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('it is being forwarded', () => asked.length === 1)
  expect(await gateway.stop()).toBe(0)
  expect(await db.rows('select state, attempt from hookonce.job')).toEqual([
    { state: 'received', attempt: 0 },
  ])
})

test('a sender that stalls is cut off at a stop, before its own time is up', async () => {
  const db = await freshDatabase()
  const args = serveArgs(configFile(configTo('http://127.0.0.1:1/')), '--drain', '1s')
  const gateway = startCli(args, { ...ENV, DATABASE_URL: db.url })
  const { port } = await gateway.line<{ port: number }>('port')
  const sender = connect(port, '127.0.0.1')
  let heard = ''
  sender.on('data', (chunk) => {
    heard += String(chunk)
  })
  const closed = once(sender, 'close')
  sender.on('error', () => undefined)
  sender.write('POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n')
  await until('its body is waited for', () => heard.includes('100 Continue'))
  expect(await gateway.stop()).toBe(0)
  await closed
  // After 15 s the answer would be 408.
  expect(heard).not.toContain('408')
})

test.each(['8', 'soon', '-1s', '2h'])('--drain %s is refused', async (time) => {
  const refused = await cli(serveArgs(configFile(configTo('http://127.0.0.1:1/')), `--drain=${time}`), ENV)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(`not "${time}"`)
})
