import { servedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type Backlog, backlog, type TenantBacklog, tenantBacklog } from '../ledger/read/jobs.ts'
import { type OutboxBacklog, outboxBacklog } from '../ledger/read/outbox.ts'
import { type SchemaVersion, schemaVersion } from '../ledger/read/schema.ts'
import { type LiveWorker, liveWorkers, type StrandedWorker, strandedWorkers } from '../ledger/read/workers.ts'
import type { Backlogs, CircuitGauge } from '../observe/gauges.ts'
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
  /** Jobs whose worker ended while it ran them. They run again once they are rescued. */
  readonly stranded: number
  readonly failed: number
  readonly attention: number
  readonly effectsUnknown: number
  /** Age of the oldest job that is due; 0: none. */
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
  /** Its jobs, pauses and circuits. Workers and the outbox serve all tenants. */
  readonly tenant?: string | undefined
}

/** Its cost grows neither with history nor with the number of failed jobs. */
export async function readStatus(ledger: LedgerTables, { tenant }: StatusFilter = {}): Promise<Status> {
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

/** Waiting and failed work. One statement after the other, so that it uses one connection. */
export async function readBacklogs({ pool, shards }: LedgerTables): Promise<Backlogs> {
  const jobs = await backlog(pool, shards)
  const outbox = await outboxBacklog(pool, shards)
  return { jobs, outbox, circuits: circuitGauges(await listLimits({ pool })) }
}

/** Like the other gauges: tenants with the same names of source and subscriber are merged. */
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

/** Workers and relays of any process that are alive. */
export function listWorkers({ pool, shards }: LedgerTables): Promise<LiveWorker[]> {
  return liveWorkers(pool, shards)
}

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
