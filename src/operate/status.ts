import { servedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type Backlog, backlog, type TenantBacklog, tenantBacklog } from '../ledger/read/jobs.ts'
import { type OutboxBacklog, outboxBacklog } from '../ledger/read/outbox.ts'
import { type SchemaVersion, schemaVersion } from '../ledger/read/schema.ts'
import { type LiveWorker, liveWorkers, type StrandedWorker, strandedWorkers } from '../ledger/read/workers.ts'
import type { Backlogs, CircuitGauge } from '../observe/gauges.ts'
import { everywhere } from './across.ts'
import { type CircuitView, listLimits, type SubscriberLimits } from './limits.ts'
import { listPaused, type Paused } from './pause.ts'

/** A summary of a ledger: its work and its workers. */
export interface Status {
  /** Undefined: the ledger was never migrated. */
  readonly schema: SchemaVersion | undefined
  /** Workers and relays whose lease is valid. */
  readonly workers: readonly LiveWorker[]
  /** Workers that have ended, and whose jobs wait for their rescue. */
  readonly stranded: readonly StrandedWorker[]
  readonly totals: StatusTotals
  /** By tenant, source and subscriber, including idle subscribers. */
  readonly jobs: readonly TenantBacklog[]
  readonly outbox: readonly OutboxBacklog[]
  readonly paused: readonly Paused[]
  /** Subscribers whose circuit is open or half-open: their jobs wait. */
  readonly circuits: readonly OpenCircuit[]
  /** Subscribers with waiting jobs that no running worker serves. */
  readonly unattended: readonly UnattendedBacklog[]
}

export type OpenCircuit = Omit<SubscriberLimits, 'rate' | 'circuit'> & { readonly circuit: CircuitView }

export interface StatusTotals {
  /** Jobs that were received, and have not begun. */
  readonly waiting: number
  readonly retrying: number
  /** Jobs that workers are running. */
  readonly processing: number
  /** Jobs whose worker ended while it ran them. They run again after their rescue. */
  readonly stranded: number
  readonly failed: number
  readonly attention: number
  readonly effectsUnknown: number
  /** Age of the oldest due job. 0: no job is due. */
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

export interface StatusFilter {
  /** The jobs, pauses and circuits of one tenant. Workers and the outbox serve all tenants. */
  readonly tenant?: string | undefined
}

async function statusIn(ledger: LedgerTables, { tenant }: StatusFilter = {}): Promise<Status> {
  const { pool, shards } = ledger
  const isMeant = (one: { readonly tenant: string }): boolean => (tenant ?? one.tenant) === one.tenant
  const workers = await listWorkers(ledger)
  const stranded = await strandedWorkers(pool, shards)
  const jobs = (await tenantBacklog(pool, shards)).filter(isMeant)
  return {
    schema: await schemaVersion(pool),
    workers,
    stranded,
    totals: totalsOf(jobs, workers),
    jobs,
    outbox: await outboxBacklog(pool, shards),
    paused: await listPaused(ledger, { tenant }),
    circuits: openCircuits(await listLimits(ledger)).filter(isMeant),
    unattended: (await servedSubscribers(pool, shards))
      .filter(({ isServed, waiting }) => !isServed && waiting > 0)
      .map(({ tenant, source, subscriber, waiting, servedUntil, registeredAt }) => ({
        tenant,
        source,
        subscriber,
        jobs: waiting,
        since: servedUntil ?? registeredAt,
      }))
      .filter(isMeant),
  }
}

/** Its cost grows neither with history nor with the number of failed jobs. */
export const readStatus = everywhere(statusIn, (all) => mergeStatus(all))

/** Waiting and failed work. The statements run one after the other, to use a single connection. */
export async function readBacklogs(ledger: LedgerTables): Promise<Backlogs> {
  const { pool, shards } = ledger
  const jobs = await backlog(pool, shards)
  const outbox = await outboxBacklog(pool, shards)
  return { jobs, outbox, circuits: circuitGauges(await listLimits(ledger)) }
}

/** As in other gauges, tenants with the same names of source and subscriber are merged. */
function circuitGauges(limits: readonly SubscriberLimits[]): CircuitGauge[] {
  const gauges = new Map<string, CircuitGauge>()
  for (const { source, subscriber, circuit } of limits) {
    if (!circuit) continue
    const key = JSON.stringify([source, subscriber])
    const isOpen = circuit.state !== 'closed' || gauges.get(key)?.isOpen === true
    gauges.set(key, { source, subscriber, isOpen })
  }
  return [...gauges.values()]
}

function openCircuits(limits: readonly SubscriberLimits[]): OpenCircuit[] {
  return limits.flatMap(({ rate, circuit, ...one }) =>
    circuit && circuit.state !== 'closed' ? [{ ...one, circuit }] : [],
  )
}

function workersIn({ pool, shards }: LedgerTables): Promise<LiveWorker[]> {
  return liveWorkers(pool, shards)
}

/** Workers and relays of any process that are alive. */
export const listWorkers = everywhere(workersIn, (all) => all.flat())

function totalsOf(jobs: readonly Backlog[], workers: readonly LiveWorker[]): StatusTotals {
  const sum = (count: (row: Backlog) => number): number => jobs.reduce((all, row) => all + count(row), 0)
  return {
    waiting: sum((row) => row.waiting),
    retrying: sum((row) => row.retrying),
    processing: workers.reduce((all, worker) => all + worker.jobs, 0),
    stranded: sum((row) => row.stranded),
    failed: sum((row) => row.failed),
    attention: sum((row) => row.attention),
    effectsUnknown: sum((row) => row.effectsUnknown),
    lagSeconds: Math.max(0, ...jobs.map((row) => row.lagSeconds)),
  }
}

function mergeStatus(all: readonly Status[]): Status {
  const sum = (of: keyof StatusTotals): number => all.reduce((total, { totals }) => total + totals[of], 0)
  const topics = new Map<string, OutboxBacklog>()
  for (const one of all.flatMap(({ outbox }) => outbox)) {
    const before = topics.get(one.topic)
    topics.set(one.topic, {
      topic: one.topic,
      waiting: (before?.waiting ?? 0) + one.waiting,
      failed: (before?.failed ?? 0) + one.failed,
      lagSeconds: Math.max(before?.lagSeconds ?? 0, one.lagSeconds),
    })
  }
  return {
    // The oldest migration of all ledgers, because an outdated ledger needs attention.
    schema: all
      .map(({ schema }) => schema)
      .reduce((oldest, one) => ((one?.version ?? 0) < (oldest?.version ?? 0) ? one : oldest)),
    workers: all.flatMap(({ workers }) => workers),
    stranded: all.flatMap(({ stranded }) => stranded),
    totals: {
      waiting: sum('waiting'),
      retrying: sum('retrying'),
      processing: sum('processing'),
      stranded: sum('stranded'),
      failed: sum('failed'),
      attention: sum('attention'),
      effectsUnknown: sum('effectsUnknown'),
      lagSeconds: Math.max(0, ...all.map(({ totals }) => totals.lagSeconds)),
    },
    jobs: all.flatMap(({ jobs }) => jobs),
    outbox: [...topics.values()],
    paused: all.flatMap(({ paused }) => paused),
    circuits: all.flatMap(({ circuits }) => circuits),
    unattended: all.flatMap(({ unattended }) => unattended),
  }
}
