import { setTimeout as delay } from 'node:timers/promises'
import { type BreakName, brokenBuild } from './broken-build.ts'
import { judge, type Verdict } from './checker.ts'
import type { Standby } from './database.ts'
import { leftOut, nemesis } from './nemesis.ts'
import { actAsPerson, decideByTruth, moveRenamed, replayFailed, resumeAll } from './person.ts'
import { randomOf } from './random.ts'
import { sendAll } from './senders.ts'
import { openWorld, type World } from './world.ts'

export interface ChaosRun {
  readonly events: number
  readonly faults: number
  readonly seed: number
  readonly standby: Standby
  /** Only these faults. */
  readonly only?: readonly string[] | undefined
  readonly broken?: BreakName
}

/** What the checker found, and what there was, in a line. */
export interface ChaosResult extends Verdict {
  readonly summary: string
}

/** Senders, several processes, a recording other side, a person, and a nemesis. */
export async function chaos(run: ChaosRun): Promise<ChaosResult> {
  const { events, faults, seed, standby, only, broken } = run
  const world = await openWorld({ processes: 3, standby, dist: broken && brokenBuild(broken) })
  const { history } = world
  let done = 0
  const report = progress(world, faults)
  const sending = sendAll(world, {
    ...{ seed, events, random: randomOf(seed) },
    allowed: () => Math.ceil(((done + 1) * events) / faults),
  })
  // A person's durable commits would take to the disk what the broken build left behind.
  let isOver = broken === 'asynchronous commit'
  const acting = actAsPerson(world, { random: randomOf(seed + 1), isOver: () => isOver })
  const breaking = nemesis(
    { world, random: randomOf(seed + 2) },
    {
      ...{ faults, only },
      onDone(count) {
        done = count
        report(count)
      },
    },
  )
  await Promise.all([sending, breaking])
  isOver = true
  await acting
  const endMs = history.now()
  await rest(world)
  const restMs = history.now() - endMs
  const verdict = await judge(world)
  const counted = `${world.newest} events, ${history.count('delivery')} deliveries, ${history.count('call')} calls`
  const acts = `${done} faults, ${history.count('act')} acts of a person`
  const took = `${Math.round(endMs / 1_000)} s and ${Math.round(restMs / 1_000)} s to come to rest`
  const lost = standby === 'asynchronous' ? [`${verdict.lost} acknowledged events lost by failovers`] : []
  const missing = Object.entries(leftOut(world)).map(([name, why]) => `without ${name}: ${why}`)
  const summary = [`CHAOS_SEED=${seed}, standby: ${standby}`, counted, acts, took, ...lost, ...missing].join(
    '; ',
  )
  return { ...verdict, summary }
}

const REPORT_MS = 60_000

/** A long run shows that it goes on, how fast, and in how much memory. */
function progress({ history }: World, faults: number): (done: number) => void {
  let nextMs = REPORT_MS
  return (done) => {
    if (history.now() < nextMs) return
    nextMs = history.now() + REPORT_MS
    const seconds = Math.round(history.now() / 1_000)
    const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20)
    const counted = `${done} of ${faults} faults, ${history.count('delivery')} deliveries`
    process.stdout.write(`${seconds} s: ${counted}, ${megabytes} MB\n`)
  }
}

const REST_MS = 120_000
const OPEN = `select (select count(*) from hookonce.job where state <> 'processed')
  + (select count(*) from hookonce.outbox where state = 'waiting')
  + (select count(*) from hookonce.effect where state = 'unknown' and reopened_at is null) as open`

/**
 * Waits until nothing is left to do, and decides on what only a person can decide. Returns in any
 * case: the checker says what is not finished.
 */
async function rest(world: World): Promise<void> {
  const end = performance.now() + REST_MS
  await resumeAll(world)
  while (performance.now() < end) {
    // An outcome that is told late decides before the person does.
    await decideByTruth(world).catch(() => undefined)
    await replayFailed(world).catch(() => undefined)
    await moveRenamed(world).catch(() => undefined)
    const { rows } = await world.pool.query<{ open: string }>(OPEN)
    if (Number(rows[0]?.open) === 0) return
    await delay(100)
  }
}
