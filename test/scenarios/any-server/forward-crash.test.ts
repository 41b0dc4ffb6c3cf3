import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type RunningCli, startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { configFile, configTo, deliver, ENV, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

/*
 * The gateway is killed and started again at random points while events come in. Counted at the
 * destination, by webhook-id: no event is lost, and none is sent again once the ledger has recorded
 * its 2xx.
 *
 * Many events, or one run again: npm run crash -- --forward 10000 [--seed 123]
 */
const EVENTS = Number(process.env.CRASH_EVENTS ?? 200)
const KILLS = Number(process.env.CRASH_KILLS ?? 3)
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)
const SENDERS = 16
/** Jobs of the last killed process wait for the end of its lease. */
const LEASE_MS = 30_000
const LIMIT_MS = 60_000 + 3 * LEASE_MS + EVENTS * 50

test(`${EVENTS} events survive ${KILLS} kills of the gateway`, { timeout: 2 * LIMIT_MS }, async () => {
  process.stdout.write(`forward-crash: seed ${SEED}\n`)
  const random = generator(SEED)
  const db = await freshDatabase()
  await recordConfirmations(db)
  const destination = await countingDestination(db, random)
  const gateway = await killableGateway(db, destination.url)
  const points = Array.from({ length: KILLS }, () => 1 + Math.floor(random() * EVENTS * 0.9))
  destination.atRequests(points, gateway.kill)

  const ids = Array.from({ length: EVENTS }, (_, n) => `evt_${n}`)
  await sendAll(ids, gateway.port)
  await until(
    'every job is processed',
    async () =>
      (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === EVENTS &&
      gateway.kills() === KILLS,
    LIMIT_MS,
  )
  const { requests, confirmed, sentAgain } = destination
  process.stdout.write(
    `forward-crash: ${EVENTS} events, ${gateway.kills()} kills, ${requests()} requests, ${
      requests() - destination.answered()
    } of them failed by the destination, ${destination.answered() - confirmed.size} repeated after a lost confirmation\n`,
  )
  expect(sentAgain).toEqual([])
  expect(confirmed.size).toBe(EVENTS)
  const receipts = await db.rows<{ id: string }>('select id from hookonce.receipt')
  expect(receipts.filter(({ id }) => !confirmed.has(id))).toEqual([])
  expect(await db.number('select count(*) from hookonce.job')).toBe(EVENTS)
})

/** The ledger's confirmations, in a separate table: they stay even if a bug resets a job. */
async function recordConfirmations(db: TestDatabase): Promise<void> {
  await db.rows('create table confirmation (receipt_id uuid primary key)')
  await db.rows(`create function confirm() returns trigger language plpgsql as $$ begin
    insert into public.confirmation values (new.receipt_id) on conflict do nothing; return new; end $$`)
  await db.rows(`create trigger confirm after update on hookonce.job for each row
    when (new.state = 'processed') execute function public.confirm()`)
}

/** Counts by webhook-id. Some requests fail and some get no answer. */
async function countingDestination(db: TestDatabase, random: () => number) {
  let requests = 0
  let answered = 0
  const confirmed = new Set<string>()
  const sentAgain: string[] = []
  const points: { at: number; act: () => void }[] = []
  const server = createServer(async (request, response) => {
    const id = String(request.headers['webhook-id'])
    const fate = random()
    requests += 1
    for (const point of points.filter(({ at }) => at === requests)) point.act()
    request.resume()
    const known = await db.number('select count(*) from confirmation where receipt_id = $1', [id])
    if (known > 0) sentAgain.push(id)
    if (fate < 0.03) return void response.writeHead(500).end()
    if (fate < 0.05) return void request.socket.destroy()
    answered += 1
    confirmed.add(id)
    response.writeHead(204).end()
  })
  return {
    url: `${await listening(server)}/`,
    requests: () => requests,
    answered: () => answered,
    confirmed,
    sentAgain,
    atRequests(numbers: readonly number[], act: () => void) {
      points.push(...numbers.map((at) => ({ at, act })))
    },
  }
}

/** A gateway on one port, which is restarted whenever it was killed. */
async function killableGateway(db: TestDatabase, url: string) {
  const config = configTo(url) as { destinations: { app: object } }
  const retry = { baseDelayMs: 50, maxDelayMs: 500, maxAttempts: 100 }
  const path = configFile({ ...config, destinations: { app: { ...config.destinations.app, retry } } })
  const port = await freePort()
  let kills = 0
  let running: RunningCli = await start()

  async function start(): Promise<RunningCli> {
    const args = serveArgs(path, '--port', String(port), '--admin-port', '0', '--quiet')
    const started = startCli(args, { ...ENV, DATABASE_URL: db.url, HOOKONCE_DURABILITY: 'unsafe' })
    await until('the gateway is ready', () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => {
          if (started.child.exitCode !== null) throw new Error(started.output.stderr)
          return false
        },
      ),
    )
    return started
  }

  async function restart(): Promise<void> {
    const { child } = running
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    running = await start()
    kills += 1
  }

  // One after the other: a kill during a start waits for the end of the start.
  let restarting = Promise.resolve()
  return {
    port,
    kills: () => kills,
    kill(): void {
      restarting = restarting.then(restart)
    },
  }
}

/** Like a provider: each event is sent until it is answered with a 2xx. */
async function sendAll(ids: readonly string[], port: number): Promise<void> {
  const waiting = [...ids]
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        // Refused or reset while the gateway is down: the provider retries.
        while ((await deliver(port, id).catch(() => 503)) >= 300) await delay(20)
      }
    }),
  )
}

/** A small generator of random numbers with a seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
