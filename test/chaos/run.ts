import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { installedBinaries } from '../support/servers.ts'
import { type BreakName, brokenBuild } from './broken-build.ts'
import { judge, type Verdict } from './checker.ts'
import type { Standby } from './database.ts'
import { leftOut, nemesis } from './nemesis.ts'
import { type Goals, type Pace, paceOf } from './pace.ts'
import { actAsPerson, decideByTruth, moveRenamed, replayFailed, resumeAll } from './person.ts'
import { randomOf } from './random.ts'
import { sendAll } from './senders.ts'
import { openWorld, type Role, type World } from './world.ts'

export interface ChaosRun extends Goals {
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

const ROLES: readonly Role[] = ['receives and works', 'receives', 'works']

/** Senders, several processes, a recording service, an operator, and a nemesis. */
export async function chaos(run: ChaosRun): Promise<ChaosResult> {
  const { seed, standby, only, broken } = run
  const world = await openWorld({ roles: ROLES, standby, dist: broken && brokenBuild(broken) })
  const { history } = world
  const backlog = watchBacklog(world)
  const pace = paceOf(run, world, backlog)
  const stopReports = reportProgress(world, pace, backlog)
  const sending = sendAll(world, { seed, pace })
  // A person's durable commits would take to the disk what the broken build left behind.
  let isOver = broken === 'asynchronous commit'
  const acting = actAsPerson(world, { random: randomOf(seed + 1), isOver: () => isOver })
  await Promise.all([sending, nemesis(world, { seed: seed + 2, only, pace })])
  isOver = true
  backlog.stop()
  stopReports()
  await acting
  const endMs = history.now()
  await rest(world, broken ? BROKEN_REST_MS : REST_MS)
  const restedMs = history.now()
  const verdict = await judge(world)
  const kept = verdict.wrong.length > 0 && !broken ? [await keepEvidence(world)] : []
  const seconds = (fromMs: number, toMs: number): string => `${Math.round((toMs - fromMs) / 1_000)} s`
  const summary = [
    `CHAOS_SEED=${seed}, standby: ${standby}`,
    `${world.newest} events, ${history.count('delivery')} deliveries, ${history.count('call')} calls`,
    `${pace.faults} faults, ${history.count('act')} acts of a person`,
    `${seconds(0, endMs)}, ${seconds(endMs, restedMs)} to come to rest, ${seconds(restedMs, history.now())} to check`,
    ...(standby === 'asynchronous' ? [`lost by failovers: ${verdict.lostEvents} acknowledged events`] : []),
    ...Object.entries(leftOut(world)).map(([name, why]) => `without ${name}: ${why}`),
    verdict.counts,
    ...kept,
  ].join('; ')
  return { ...verdict, summary }
}

/** Keeps the history and a dump of the database. Returns a text that says where. */
async function keepEvidence({ history, directUrl }: World): Promise<string> {
  history.keep()
  const dump = ['-Fc', '-f', join(history.dir, 'database.dump'), directUrl]
  await promisify(execFile)(join(installedBinaries() ?? '', 'pg_dump'), dump)
  return `history and database.dump are in ${history.dir}`
}

const WAITING = `select count(*) as jobs from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
  where j.state in ('received', 'retrying') and s.paused_at is null`

/** Counts once per second how many jobs wait for a worker. */
function watchBacklog({ pool }: World): { readonly jobs: number; stop(): void } {
  let jobs = 0
  const timer = setInterval(() => {
    pool.query<{ jobs: string }>(WAITING).then(
      ({ rows }) => {
        jobs = Number(rows[0]?.jobs)
      },
      // The database is down: the last number stays.
      () => undefined,
    )
  }, 1_000)
  return {
    get jobs() {
      return jobs
    },
    stop: () => clearInterval(timer),
  }
}

const REPORT_MS = 30_000

/** A long run shows that it goes on, how fast, and in how much memory. Returns what ends that. */
function reportProgress(world: World, pace: Pace, backlog: { readonly jobs: number }): () => void {
  const { history, database } = world
  const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`
  const timer = setInterval(() => {
    const facts = [
      `${pace.faults} faults (now: ${[...pace.underWay].join(' and ') || 'none'})`,
      `${history.count('delivery')} deliveries`,
      `${world.newest} events`,
      `${backlog.jobs} jobs wait`,
      `${megabytes(process.memoryUsage().rss)} of memory`,
      ...(database.disk ? [`${megabytes(database.disk.usedBytes())} of the database's disk`] : []),
    ]
    process.stdout.write(`${Math.round(history.now() / 1_000)} s: ${facts.join(', ')}\n`)
  }, REPORT_MS)
  return () => clearInterval(timer)
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
