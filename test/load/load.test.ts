import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { randomOf } from '../chaos/random.ts'
import { makeCluster } from '../support/servers.ts'
import { SENDER } from '../support/source.ts'
import { startTalking } from '../support/talking-process.ts'
import { until } from '../support/until.ts'
import { type Figures, figuresOf, lagOf, sampling } from './figures.ts'
import { type Generator, generator } from './generator.ts'

/*
 * A steady rate with duplicates, forged deliveries, lost replies and failing handlers, then several
 * times that rate, then the steady rate again. `npm run load` runs it for longer. The short run in
 * `npm test` checks results, not times: other tests use the machine.
 */
const MINUTES = Number(process.env.LOAD_MINUTES ?? 0.05)
const OVERLOAD = Number(process.env.LOAD_OVERLOAD ?? 3)
const RATE = process.env.LOAD_RATE === undefined ? undefined : Number(process.env.LOAD_RATE)
const SEED = Number(process.env.LOAD_SEED ?? Date.now() % 1_000_000)
const IS_LONG = MINUTES >= 1

/** A share of the machine's maximum. Other programs need the rest. */
const SUSTAINABLE_SHARE = 0.6
const WARM_UP_SECONDS = IS_LONG ? 10 : 1
const OVERLOAD_SECONDS = IS_LONG ? 30 : 1.5
/** Far below the connections of the generator, so that overload fills the queue and not the network. */
const MAX_WAITING = 200
/** If the end grew by more than this over the middle, it is not noise. */
const MAX_GROWTH = 1.15
const MAX_LAG_SECONDS = 5
const MAX_RECOVERY_SECONDS = 30

const SCRIPT = fileURLToPath(new URL('./app.mjs', import.meta.url))
const say = (text: string): void => void process.stdout.write(`load: ${text}\n`)

async function openPlace() {
  const cluster = await makeCluster()
  cluster.start()
  onTestFinished(() => {
    cluster.stop()
    cluster.remove()
  })
  const pool = new pg.Pool({ connectionString: cluster.url, max: 3 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  await migrate(pool)
  // No primary key: an effect that happened twice is counted, not refused.
  await pool.query('create table public.effect (event text not null)')
  const app = startTalking(SCRIPT, {
    config: { database: cluster.url, sender: SENDER, maxWaiting: MAX_WAITING },
  })
  const { port } = await app.says('ready')
  return { pool, pid: Number(app.process.pid), port: Number(port) }
}

const OPEN = `select count(*)::int as open from hookonce.job where state <> 'processed'`
const COUNTS = `select (select count(*) from hookonce.receipt)::int as receipts, count(*)::int as effects,
  count(distinct event)::int as events from public.effect`

/** Accepted = receipts = effects, each once. A lost reply may hide an acceptance, never the reverse. */
async function checkResults(pool: pg.Pool, sending: Generator): Promise<void> {
  await until(
    'every accepted event took effect',
    async () => (await pool.query<{ open: number }>(OPEN)).rows[0]?.open === 0,
    300_000,
  )
  const { rows } = await pool.query<{ receipts: number; effects: number; events: number }>(COUNTS)
  const accepted = sending.accepted.size
  expect(rows[0]).toEqual({ receipts: accepted, effects: accepted, events: accepted })
}

function statusText(statuses: ReadonlyMap<number, number>): string {
  return [...statuses].map(([status, count]) => `${status}: ${count}`).join(', ')
}

function lagText({ medianLagSeconds, maxLagSeconds }: Figures): string {
  return `lag ${medianLagSeconds.toFixed(2)} s in the middle, ${maxLagSeconds.toFixed(2)} s at most`
}

/** Refused deliveries are sent again, as by providers, until all are accepted. */
async function redeliver(sending: Generator): Promise<void> {
  for (;;) {
    const refused = sending.refused()
    if (refused.length === 0) return
    for (let at = 0; at < refused.length; at += 100)
      await Promise.all(refused.slice(at, at + 100).map((id) => sending.deliver(id)))
  }
}

test(`under load, accepted = receipts = effects (LOAD_SEED=${SEED})`, async () => {
  const { pool, pid, port } = await openPlace()
  const sending = generator(port, randomOf(SEED))
  await sending.closedLoop(64, WARM_UP_SECONDS)
  await redeliver(sending)
  await checkResults(pool, sending)
  // Measured from delivery to effect: accepting alone would leave a backlog for the steady rate.
  const startedAt = performance.now()
  const before = sending.accepted.size
  await sending.closedLoop(64, WARM_UP_SECONDS)
  await redeliver(sending)
  await checkResults(pool, sending)
  const most = ((sending.accepted.size - before) * 1_000) / (performance.now() - startedAt)
  const rate = RATE ?? Math.floor(most * SUSTAINABLE_SHARE)
  say(
    `at most ${Math.round(most)} per second; steady rate ${rate} for ${MINUTES} minutes (${statusText(sending.takeStatuses())})`,
  )

  const steady = sampling(pid, pool)
  await sending.atRate(rate, MINUTES * 60)
  await steady.stop()
  const figures = figuresOf(steady.samples)
  const { rssMib, maxLagSeconds } = figures
  const lost = sending.refused().length
  say(
    `steady: ${statusText(sending.takeStatuses())}; RSS ${rssMib.join(', ')} MiB; ${lagText(figures)}; not accepted ${lost}`,
  )
  await redeliver(sending)
  await checkResults(pool, sending)

  const overload = sampling(pid, pool)
  const tooMuch = Math.ceil((RATE ?? most) * OVERLOAD)
  await sending.atRate(tooMuch, OVERLOAD_SECONDS)
  const endedAt = performance.now()
  await overload.stop()
  const statuses = sending.takeStatuses()
  const over = figuresOf(overload.samples)
  say(
    `overload of ${tooMuch} per second: ${statusText(statuses)}; RSS ${over.rssMib.join(', ')} MiB; ${lagText(over)}`,
  )
  expect(sending.badRefusals, '503 without Retry-After').toBe(0)
  await until('a delivery is accepted again', async () => (await sending.deliver('evt_1')).status === 200)
  const acceptedAgain = (performance.now() - endedAt) / 1_000
  while ((await lagOf(pool)) > 1) await delay(50)
  const recovery = (performance.now() - endedAt) / 1_000
  say(
    `recovery: accepts after ${acceptedAgain.toFixed(2)} s, lag below one second after ${recovery.toFixed(2)} s`,
  )

  const refused = sending.refused().length
  await redeliver(sending)
  await checkResults(pool, sending)
  say(
    `${sending.accepted.size} events accepted, recorded and in effect once; ${refused} were refused at first`,
  )
  if (!IS_LONG) return
  const [, middle, end] = rssMib
  expect(end).toBeLessThan(middle * MAX_GROWTH)
  expect(maxLagSeconds).toBeLessThan(MAX_LAG_SECONDS)
  expect(statuses.get(503), 'refusals under overload').toBeGreaterThan(0)
  expect(recovery).toBeLessThan(MAX_RECOVERY_SECONDS)
})
