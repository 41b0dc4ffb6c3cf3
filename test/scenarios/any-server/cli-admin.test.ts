import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { cli, startCli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { configFile, configTo, deliver, destination, ENV, serveArgs } from '../../support/gateway.ts'
import { lockTable } from '../../support/table-lock.ts'
import { until } from '../../support/until.ts'

const TOKEN = 'a-token-of-24-characters'

interface Ready {
  readonly port: number
  readonly adminPort: number
  readonly processes: number[]
}

async function serving(...more: string[]) {
  const db = await freshDatabase()
  const app = await destination()
  const gateway = startCli(serveArgs(configFile(configTo(app.url)), ...more), {
    ...ENV,
    DATABASE_URL: db.url,
  })
  return { db, gateway, ...(await gateway.line<Ready>('adminPort')) }
}

/** The status of a GET with another host name than the address. */
function statusFor(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asking.on('error', reject).end()
  })
}

const get = (port: number, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers })

test('metrics are on the admin listener alone, health is on both', async () => {
  const { port, adminPort } = await serving()
  expect((await get(port, '/metrics')).status).toBe(404)
  const metrics = await get(adminPort, '/metrics')
  expect(metrics.status).toBe(200)
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await metrics.text()).toContain('hookonce_ledger_up 1')
  for (const listener of [port, adminPort]) {
    expect((await get(listener, '/healthz')).status).toBe(200)
    expect((await get(listener, '/readyz')).status).toBe(200)
  }
  // This listener accepts no deliveries.
  expect(await deliver(adminPort, 'evt_1')).toBe(404)
  expect(await statusFor(adminPort, 'evil.example')).toBe(403)
  // A proxy on this machine may use any host name, but it lets strangers in.
  for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])
    expect((await get(adminPort, '/metrics', { [header]: '203.0.113.7' })).status).toBe(403)
})

test('under many scrapes and health checks, deliveries keep their connections and one scrape waits', async () => {
  const { db, port, adminPort } = await serving()
  // The backlog is read on the operators' connections, which deliveries do not use.
  const lock = await lockTable(db, 'hookonce.effect')
  const scrapes = Array.from({ length: 100 }, () => get(adminPort, '/metrics'))
  await lock.waiters(1)
  const looks = Array.from({ length: 100 }, () => get(port, '/readyz'))
  for (const n of Array(20).keys()) expect(await deliver(port, `evt_${n}`)).toBe(202)
  for (const look of looks) expect((await look).status).toBe(200)
  const waiting = await db.number(
    `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  expect(waiting).toBe(1)
  await lock.release()
  for (const scrape of scrapes) expect((await scrape).status).toBe(200)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(20)
})

test('beyond this machine the admin listener requires a token', async () => {
  const db = await freshDatabase()
  const path = configFile(configTo('http://127.0.0.1:1/'))
  const args = serveArgs(path, '--admin-host', '0.0.0.0')
  const env = { ...ENV, DATABASE_URL: db.url }
  const refused = await cli(args, env)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('other machines can reach the admin listener at "0.0.0.0"')
  expect(refused.stderr).toContain('set HOOKONCE_ADMIN_TOKEN')

  const gateway = startCli(args, { ...env, HOOKONCE_ADMIN_TOKEN: TOKEN })
  const { adminPort } = await gateway.line<Ready>('adminPort')
  expect((await get(adminPort, '/metrics')).status).toBe(401)
  expect((await get(adminPort, '/metrics', { authorization: `Bearer ${TOKEN}x` })).status).toBe(401)
  expect((await get(adminPort, '/metrics', { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
  expect((await get(adminPort, '/readyz')).status).toBe(200)
  expect(gateway.output.stderr).not.toContain(TOKEN)
})

test('the configuration sets the address of the admin listener, and the command line overrides it', async () => {
  const db = await freshDatabase()
  const env = { ...ENV, DATABASE_URL: db.url, METRICS_TOKEN: TOKEN }
  const config = {
    ...configTo('http://127.0.0.1:1/'),
    admin: { host: '0.0.0.0', token: 'env:METRICS_TOKEN' },
  }
  const gateway = startCli(serveArgs(configFile(config)), env)
  const { adminPort } = await gateway.line<Ready>('adminPort')
  expect((await get(adminPort, '/metrics', { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
  expect((await get(adminPort, '/metrics')).status).toBe(401)

  const missing = await cli(serveArgs(configFile(config)), { ...ENV, DATABASE_URL: db.url })
  expect(missing.stderr).toContain('admin.token: the environment variable METRICS_TOKEN is empty or not set')
  const elsewhere = { ...configTo('http://127.0.0.1:1/'), admin: { host: '0.0.0.0', port: 1 } }
  const moved = startCli(
    serveArgs(configFile(elsewhere), '--admin-host', '127.0.0.1', '--admin-port', '0'),
    env,
  )
  expect((await moved.line<Ready>('adminPort')).adminPort).toBeGreaterThan(1)
})

test.each([
  { name: 'one process', more: [] },
  { name: 'several processes', more: ['--workers', '2'] },
])('with $name the error names the taken admin port, with the option to pass', async ({ more }) => {
  const db = await freshDatabase()
  const app = await destination()
  const taken = new URL(app.url).port
  const args = serveArgs(configFile(configTo(app.url)), '--admin-port', taken, ...more)
  const ended = await cli(args, { ...ENV, DATABASE_URL: db.url })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(`PORT_TAKEN: port ${taken} is taken, by another hookonce or another program`)
  expect(ended.stderr).toContain('choose another with --admin-port')
  expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(0)
})

/** The sum of deliveries over all processes. */
async function received(adminPort: number): Promise<number> {
  const text = await (await get(adminPort, '/metrics')).text()
  return Number(/^hookonce_received_total\{source="stripe"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** Kills a process while a scrape waits for its answer. Returns the text of the scrape. */
async function killWhileAsked(pid: number, adminPort: number): Promise<number> {
  process.kill(pid, 'SIGSTOP')
  // Answers to scrapes are cached for a second: the first scrape of the frozen process hangs.
  const { sum } = await until('a scrape waits for the frozen process', async () => {
    const sum = received(adminPort)
    const hangs = await Promise.race([sum.then(() => false), delay(300, true)])
    return hangs ? { sum } : undefined
  })
  process.kill(pid, 'SIGKILL')
  return sum
}

test('a process that dies during a scrape ends no other process, and its counts stay', async () => {
  const { port, adminPort, processes, gateway } = await serving('--workers', '2')
  for (const n of Array(10).keys()) expect(await deliver(port, `evt_${n}`)).toBe(202)
  await until('all are counted', async () => (await received(adminPort)) === 10)
  const [victim = 0] = processes
  expect(await killWhileAsked(victim, adminPort)).toBe(10)
  expect(gateway.child.exitCode).toBeNull()
  await gateway.line('pid')
  let next = 10
  await until('it receives', async () => {
    next += 1
    return (await deliver(port, `evt_${next}`).catch(() => undefined)) === 202
  })
  await until('what came since is added', async () => (await received(adminPort)) > 10)
  expect(await gateway.stop()).toBe(0)
})
