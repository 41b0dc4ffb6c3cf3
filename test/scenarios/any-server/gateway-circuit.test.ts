import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { cli, type RunningCli, startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { configFile, deliver, ENV, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

/* Gateways as processes, with destinations that are real servers. */

interface App {
  readonly url: string
  /** The ids of the events that were answered with 2xx. */
  readonly done: string[]
  requests: number
  mode: 'up' | 'down' | 'hanging'
  /**
   * The number of requests that wait for their answer, and its maximum during the next `probesLeft`
   * requests.
   */
  inFlight: number
  most: number
  probesLeft: number
  /** Answers the requests that hang. */
  release(): void
}

async function app(mode: App['mode'] = 'up'): Promise<App> {
  const hanging: (() => void)[] = []
  const server = createServer(async (request, response) => {
    self.requests += 1
    self.inFlight += 1
    response.once('close', () => {
      self.inFlight -= 1
    })
    if (self.probesLeft > 0) self.most = Math.max(self.most, self.inFlight)
    self.probesLeft -= 1
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (self.mode === 'down') return void response.writeHead(503).end()
    const accept = (): void => {
      if (response.destroyed) return
      self.done.push(JSON.parse(body).id)
      response.writeHead(204).end()
    }
    if (self.mode === 'hanging') hanging.push(accept)
    else accept()
  })
  const self: App = {
    url: await listening(server),
    done: [],
    requests: 0,
    mode,
    inFlight: 0,
    most: 0,
    probesLeft: 0,
    release() {
      for (const accept of hanging.splice(0)) accept()
    },
  }
  return self
}

const SOURCES = { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } }

interface GatewayOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  readonly sources?: object
}

function gateway(
  db: TestDatabase,
  destinations: Record<string, object>,
  { args = [], env = {}, sources = SOURCES }: GatewayOptions = {},
): RunningCli {
  const signed = Object.entries(destinations).map(([name, one]) => [
    name,
    { secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'], ...one },
  ])
  const path = configFile({ sources, destinations: Object.fromEntries(signed) })
  return startCli(serveArgs(path, ...args), { ...ENV, ...env, DATABASE_URL: db.url })
}

async function sendAll(port: number, ids: readonly string[]): Promise<void> {
  const answers = await Promise.all(ids.map((id) => deliver(port, id)))
  expect(new Set(answers)).toEqual(new Set([202]))
}

const idsOf = (count: number, name = 'evt') => Array.from({ length: count }, (_, n) => `${name}_${n}`)

function circuitOf(db: TestDatabase, destination: string): Promise<Record<string, unknown> | undefined> {
  return db
    .rows('select state, failed_probes as failed from hookonce.limiter where name = $1', [destination])
    .then(([row]) => row)
}

test('while one of ten destinations hangs, the nine others get all their events', async () => {
  const db = await freshDatabase()
  const hanging = await app('hanging')
  const others = await Promise.all(Array.from({ length: 9 }, () => app()))
  const limits = { concurrency: 8, timeoutMs: 600_000 }
  const destinations = Object.fromEntries([
    ['hanging', { url: hanging.url, ...limits }],
    ...others.map(({ url }, n) => [`app${n}`, { url, ...limits }]),
  ])
  const running = gateway(db, destinations)
  const { port } = await running.line<{ port: number }>('port')
  // More events than the process has slots: the hanging destination would take all of them without
  // its own limit.
  const ids = idsOf(120)
  for (const wave of [ids.slice(0, 100), ids.slice(100)]) {
    const before = others.map(({ done }) => done.length)
    await sendAll(port, wave)
    await until('the nine have all', () =>
      others.every(({ done }, n) => done.length === (before[n] ?? 0) + wave.length),
    )
    await until('their jobs have ended, and their slots are free', async () => {
      const processed = await db.number(`select count(*) from hookonce.job where state = 'processed'`)
      return processed === others.reduce((sum, { done }) => sum + done.length, 0)
    })
  }

  for (const { done } of others) expect([...done].sort()).toEqual([...ids].sort())
  expect(hanging.done).toEqual([])
  expect(hanging.requests).toBe(8)
  // None of the hanging requests has ended: the nine did not wait for a timeout.
  expect(
    await db.rows(`select distinct j.state::text, j.attempt from hookonce.job j
      join hookonce.subscriber s on s.id = j.subscriber where s.name = 'hanging' order by 1`),
  ).toEqual([
    { state: 'processing', attempt: 1 },
    { state: 'received', attempt: 0 },
  ])
})

test('a destination that is down costs no attempts, and gets everything when two gateways find it up', async () => {
  const db = await freshDatabase()
  const crm = await app('down')
  const circuit = { minSamples: 4, openMs: 100, maxOpenMs: 200, probes: 2 }
  const destinations = { crm: { url: crm.url, circuit } }
  const gateways = [gateway(db, destinations), gateway(db, destinations)]
  const ports = await Promise.all(
    gateways.map(async (one) => (await one.line<{ port: number }>('port')).port),
  )
  const [first = 0, second = 0] = ports
  await sendAll(first, idsOf(6, 'first'))
  await until('the circuit is open', async () => (await circuitOf(db, 'crm'))?.state !== 'closed')
  const requests = crm.requests
  const [{ failed: before } = { failed: 0 }] = await db.rows<{ failed: number }>(
    'select failed_probes as failed from hookonce.limiter',
  )
  // Both gateways accept, and neither sends.
  await sendAll(first, idsOf(20, 'one'))
  await sendAll(second, idsOf(20, 'two'))
  await until('probes have failed', async () => Number((await circuitOf(db, 'crm'))?.failed) >= before + 3)

  const { failed } = (await circuitOf(db, 'crm')) ?? {}
  // The requests in flight at the opening, and the probes. One more may be in flight.
  expect(crm.requests - requests).toBeLessThanOrEqual(6 + Number(failed) + 1)
  expect(
    await db.number(`select count(*) from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
      where r.event_key !~ '^first' and j.state <> 'processing' and j.attempt > 0`),
  ).toBe(0)
  const status = await cli(['status'], { DATABASE_URL: db.url })
  expect(status.stdout).toMatch(
    /the circuit of "crm" of stripe has been (open|half-open) since .*: its jobs wait; /,
  )
  expect(status.stdout).toContain('FORWARD_FAILED')
  const [listed] = (await cli(['subscribers', '--json'], { DATABASE_URL: db.url })).json<
    { circuit: { state: string; reason: string } }[]
  >()
  expect(listed?.circuit.state).not.toBe('closed')

  crm.mode = 'up'
  await until('it has all', () => crm.done.length === 46)
  await until('the circuit is closed', async () => (await circuitOf(db, 'crm'))?.state === 'closed')
  expect(new Set(crm.done).size).toBe(46)
  await until('all jobs are processed', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 46
  })
  expect(
    await db.rows(`select distinct j.attempt from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
      where r.event_key !~ '^first'`),
  ).toEqual([{ attempt: 1 }])
})

test('a circuit or a rate with a mistake is refused, with the allowed values', async () => {
  const db = await freshDatabase()
  const destinations = {
    crm: { url: 'http://127.0.0.1:1/', circuit: { failures: 3 }, rate: { perSecond: 0 } },
  }
  const refused = gateway(db, destinations)
  expect(await refused.ended()).toBe(1)

  expect(refused.output.stderr).toContain(
    'destinations.crm.circuit: unknown "failures"; allowed: failureRate, minSamples, windowMs, openMs, maxOpenMs, probes',
  )
  expect(refused.output.stderr).toContain('destinations.crm.rate.perSecond')
})

/** Three gateways on one ledger. The clocks of two are off by an hour. */
async function threeGateways(
  db: TestDatabase,
  destinations: Record<string, object>,
): Promise<{ gateways: RunningCli[]; ports: number[] }> {
  const preload = fileURLToPath(new URL('../../support/skewed-clock.mjs', import.meta.url))
  const skewed = (ms: number) => ({ NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(ms) })
  const gateways = [0, 3_600_000, -3_600_000].map((ms) =>
    gateway(db, destinations, { args: ['--work-only'], env: ms === 0 ? {} : skewed(ms) }),
  )
  const ports = await Promise.all(
    gateways.map(async (one) => (await one.line<{ port: number }>('port')).port),
  )
  return { gateways, ports }
}

/** Waiting events, recorded by a gateway that only receives. */
async function recorded(
  db: TestDatabase,
  destinations: Record<string, object>,
  ids: readonly string[],
): Promise<void> {
  const receiver = gateway(db, destinations, { args: ['--receive-only'] })
  await sendAll((await receiver.line<{ port: number }>('port')).port, ids)
  expect(await receiver.stop()).toBe(0)
}

test('three gateways with different clocks keep one rate together', async () => {
  const db = await freshDatabase()
  const crm = await app()
  const rate = { perSecond: 20, burst: 5 }
  const destinations = { crm: { url: crm.url, rate } }
  await recorded(db, destinations, idsOf(60))
  await db.rows('update hookonce.limiter set tokens = burst, refilled_at = clock_timestamp()')
  const [start] = await db.rows<{ at: Date }>('select refilled_at as at from hookonce.limiter')
  await threeGateways(db, destinations)
  await until('it has all', () => crm.done.length === 60)
  await until('all jobs are processed', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 60
  })

  // The n-th request needs the n-th token, which does not exist before its time.
  const early = await db.rows(
    `select n, at from (
       select row_number() over (order by started_at) as n, extract(epoch from started_at - $1::timestamptz) as at
       from hookonce.job
     ) runs where n > $2::float8 + $3::float8 * at + 0.001`,
    [start?.at, rate.burst, rate.perSecond],
  )
  expect(early).toEqual([])
  expect(crm.requests).toBe(60)
})

test('of three gateways one at a time probes, and a killed one does not keep the probe', async () => {
  const db = await freshDatabase()
  const crm = await app('down')
  const circuit = { minSamples: 3, openMs: 50, maxOpenMs: 100, probes: 4 }
  const destinations = { crm: { url: crm.url, circuit, timeoutMs: 600_000 } }
  await recorded(db, destinations, idsOf(40))
  const { gateways } = await threeGateways(db, destinations)
  await until('the circuit is open', async () => (await circuitOf(db, 'crm'))?.state !== 'closed')
  await until('nothing of before the opening runs', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processing'`)) <= 1
  })
  crm.mode = 'hanging'
  const prober = () =>
    db.rows<{ pid: number; id: number }>(
      `select w.pid, w.id from hookonce.limiter l join hookonce.worker w on w.id = l.prober`,
    )
  await until('a probe hangs', async () => crm.inFlight === 1 && (await prober()).length === 1)
  const [first] = await prober()
  const polled = await polls(db)
  await until('all three have looked several times', async () => (await polls(db)) > polled + 9)
  expect(crm.inFlight).toBe(1)

  const killed = gateways.find(({ child }) => child.pid === first?.pid)
  killed?.child.kill('SIGKILL')
  await until('it is dead', () => killed?.child.signalCode === 'SIGKILL')
  // Ends the lease now instead of waiting for its end.
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 second' where id = $1`, [
    first?.id,
  ])
  await until('another one probes', async () => {
    const [now] = await prober()
    return now !== undefined && now.id !== first?.id && crm.inFlight === 1
  })
  crm.most = 0
  crm.probesLeft = 4
  crm.mode = 'up'
  crm.release()
  await until('the circuit is closed', async () => (await circuitOf(db, 'crm'))?.state === 'closed')
  expect(crm.most).toBe(1)
})

/** How often workers have read the circuits: each read is a separate statement. */
function polls(db: TestDatabase): Promise<number> {
  return db.number(
    `select coalesce(sum(xact_commit), 0) from pg_stat_database where datname = current_database()`,
  )
}
