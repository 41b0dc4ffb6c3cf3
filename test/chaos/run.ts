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
  /** Ends the run at this time instead. Events are sent as fast as they are processed. */
  readonly minutes?: number | undefined
  readonly seed: number
  readonly standby: Standby
  /** Only these faults. */
  readonly only?: readonly string[] | undefined
  readonly broken?: BreakName
}

/** The findings of the checker, and a summary in one line. */
export interface ChaosResult extends Verdict {
  readonly summary: string
}

/** Senders, several processes, a recording service, an operator, and a nemesis. */
export async function chaos(run: ChaosRun): Promise<ChaosResult> {
  const { seed, standby, only, broken, minutes } = run
  const { events, faults } = minutes === undefined ? run : { events: ENDLESS, faults: ENDLESS }
  const world = await openWorld({ processes: 3, standby, dist: broken && brokenBuild(broken) })
  const { history } = world
  let done = 0
  const isTimeUp = (): boolean => minutes !== undefined && history.now() > minutes * 60_000
  const report = progress(world)
  const backlog = watchBacklog(world)
  const sending = sendAll(world, {
    ...{ seed, events, random: randomOf(seed), isOver: isTimeUp },
    allowed: () =>
      minutes === undefined
        ? Math.ceil(((done + 1) * events) / faults)
        : backlog.jobs < MOST_WAITING
          ? ENDLESS
          : 0,
  })
  // The durable commits of the operator would also sync commits that the broken build left
  // unsynced.
  let isOver = broken === 'asynchronous commit'
  const acting = actAsPerson(world, { random: randomOf(seed + 1), isOver: () => isOver })
  const breaking = nemesis(
    { world, random: randomOf(seed + 2) },
    {
      ...{ faults, only, isOver: isTimeUp },
      onDone(count) {
        done = count
        report(count)
      },
    },
  )
  await Promise.all([sending, breaking])
  isOver = true
  backlog.stop()
  await acting
  const endMs = history.now()
  await rest(world, broken ? BROKEN_REST_MS : REST_MS)
  const restMs = history.now() - endMs
  const verdict = await judge(world)
  const counted = `${world.newest} events, ${history.count('delivery')} deliveries, ${history.count('call')} calls`
  const acts = `${done} faults, ${history.count('act')} acts of a person`
  const took = `${Math.round(endMs / 1_000)} s and ${Math.round(restMs / 1_000)} s to come to rest`
  const lost =
    standby === 'asynchronous' ? [`lost by failovers: ${verdict.lostEvents} acknowledged events`] : []
  const missing = Object.entries(leftOut(world)).map(([name, why]) => `without ${name}: ${why}`)
  const summary = [`CHAOS_SEED=${seed}, standby: ${standby}`, counted, acts, took, ...lost, ...missing].join(
    '; ',
  )
  return { ...verdict, summary }
}

const ENDLESS = Number.MAX_SAFE_INTEGER
/** More waiting jobs would only take longer to finish. */
const MOST_WAITING = 500
const WAITING = `select count(*) as jobs from hookonce.job where state in ('received', 'retrying')`

/** Counts once per second how many jobs wait for a worker. */
function watchBacklog({ pool }: World): { readonly jobs: number; stop(): void } {
  let jobs = 0
  const timer = setInterval(() => {
    pool.query<{ jobs: string }>(WAITING).then(
      ({ rows }) => {
        jobs = Number(rows[0]?.jobs)
      },
      // The database is down: nothing is sent until it is back.
      () => {
        jobs = MOST_WAITING
      },
    )
  }, 1_000)
  return {
    get jobs() {
      return jobs
    },
    stop: () => clearInterval(timer),
  }
}

const REPORT_MS = 60_000

/** Prints the progress of a long run: its rate and its memory. */
function progress({ history }: World): (done: number) => void {
  let nextMs = REPORT_MS
  return (done) => {
    if (history.now() < nextMs) return
    nextMs = history.now() + REPORT_MS
    const seconds = Math.round(history.now() / 1_000)
    const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20)
    const counted = `${done} faults, ${history.count('delivery')} deliveries`
    process.stdout.write(`${seconds} s: ${counted}, ${megabytes} MB\n`)
  }
}

/** The longest time without any progress. A broken build may never come to rest. */
const REST_MS = 120_000
const BROKEN_REST_MS = 15_000
const OPEN = `select (select count(*) from hookonce.job where state <> 'processed')
  + (select count(*) from hookonce.outbox where state = 'waiting')
  + (select count(*) from hookonce.effect where state = 'unknown' and reopened_at is null) as open`

/**
 * Waits until all work is done, and decides on unknown effects. Always returns: the checker reports
 * unfinished work.
 */
async function rest(world: World, patienceMs: number): Promise<void> {
  // A broken build may have lost the subscribers. The checker reports that.
  await resumeAll(world).catch(() => undefined)
  let least = Number.POSITIVE_INFINITY
  for (let end = performance.now() + patienceMs; performance.now() < end; await delay(250)) {
    // An outcome that arrives late decides before the operator does.
    await decideByTruth(world).catch(() => undefined)
    await replayFailed(world).catch(() => undefined)
    await moveRenamed(world).catch(() => undefined)
    const { rows } = await world.pool.query<{ open: string }>(OPEN)
    const open = Number(rows[0]?.open)
    if (open === 0) return
    if (open < least) end = performance.now() + patienceMs
    least = Math.min(least, open)
  }
}
