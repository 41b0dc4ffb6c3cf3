import { servedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type Backlog, backlog } from '../ledger/read/jobs.ts'
import { type OutboxBacklog, outboxBacklog } from '../ledger/read/outbox.ts'
import { type SchemaVersion, schemaVersion } from '../ledger/read/schema.ts'
import { type LiveWorker, liveWorkers } from '../ledger/read/workers.ts'
import type { Backlogs } from '../observe/metrics.ts'
import { listPaused, type Paused } from './pause.ts'

/** What a ledger holds and who works on it, at one look. */
export interface Status {
  /** Undefined: the ledger was never migrated. */
  readonly schema: SchemaVersion | undefined
  /** Workers and relays whose lease lasts. */
  readonly workers: readonly LiveWorker[]
  readonly totals: StatusTotals
  /** By source and subscriber; also subscribers without work. */
  readonly jobs: readonly Backlog[]
  readonly outbox: readonly OutboxBacklog[]
  readonly paused: readonly Paused[]
  /** Subscribers with waiting jobs that no running worker serves. */
  readonly unattended: readonly UnattendedBacklog[]
}

export interface StatusTotals {
  /** Jobs that were received, and have not begun. */
  readonly waiting: number
  readonly retrying: number
  /** Jobs that workers run now. */
  readonly processing: number
  readonly failed: number
  readonly attention: number
  readonly effectsUnknown: number
  /** Age of the oldest job that is due; 0: none is. */
  readonly lagSeconds: number
}

export interface UnattendedBacklog {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  readonly jobs: number
  /** When the last worker that served it ended, or when it was registered. */
  readonly since: Date
}

/** Reads only unfinished and failed work, so its cost does not grow with history. */
export async function readStatus(ledger: LedgerTables): Promise<Status> {
  const { pool, shards } = ledger
  const workers = await listWorkers(ledger)
  const { jobs, outbox } = await readBacklogs(ledger)
  return {
    schema: await schemaVersion(pool),
    workers,
    totals: totalsOf(jobs, workers),
    jobs,
    outbox,
    paused: await listPaused(ledger),
    unattended: (await servedSubscribers(pool, shards))
      .filter(({ isServed, waiting }) => !isServed && waiting > 0)
      .map(({ tenant, source, subscriber, waiting, servedUntil, registeredAt }) => ({
        tenant,
        source,
        subscriber,
        jobs: waiting,
        since: servedUntil ?? registeredAt,
      })),
  }
}

/** What waits and what failed. One statement after the other, so that it uses one connection. */
export async function readBacklogs({ pool, shards }: LedgerTables): Promise<Backlogs> {
  const jobs = await backlog(pool, shards)
  return { jobs, outbox: await outboxBacklog(pool, shards) }
}

/** Workers and relays of any process that are alive now. */
export function listWorkers({ pool, shards }: LedgerTables): Promise<LiveWorker[]> {
  return liveWorkers(pool, shards)
}

function totalsOf(jobs: readonly Backlog[], workers: readonly LiveWorker[]): StatusTotals {
  const sum = (count: (row: Backlog) => number): number => jobs.reduce((all, row) => all + count(row), 0)
  return {
    waiting: sum((row) => row.waiting),
    retrying: sum((row) => row.retrying),
    processing: workers.reduce((all, worker) => all + worker.jobs, 0),
    failed: sum((row) => row.failed),
    attention: sum((row) => row.attention),
    effectsUnknown: sum((row) => row.effectsUnknown),
    lagSeconds: Math.max(0, ...jobs.map((row) => row.lagSeconds)),
  }
}
