import type { CircuitState } from '../ledger/jobs/circuits.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type LimitedRow, limitedSubscribers } from '../ledger/read/limiters.ts'
import { everywhere } from './across.ts'

/** The circuit of a subscriber, which all processes share. */
export interface CircuitView {
  readonly state: CircuitState
  /**
   * The time at which the circuit closed. If it is open or half-open, the time at which it opened.
   */
  readonly since: Date
  /**
   * The failure that opened the circuit, or the failure of the last probe. Null: the circuit is
   * closed.
   */
  readonly reason: string | null
  /**
   * The earliest time at which a due job runs as a probe. Null: at once, or the circuit is closed.
   */
  readonly nextProbeAt: Date | null
  /** Whether a probe is running. Only if the circuit is half-open. */
  readonly isProbing: boolean
  /** The number of failed probes since the circuit opened. */
  readonly failedProbes: number
  /** The number of successful probes in a row. */
  readonly passedProbes: number
}

/** The rate of a subscriber, over all processes. */
export interface RateView {
  readonly perSecond: number
  readonly burst: number
  /** The number of runs that could begin now. */
  readonly tokens: number
}

/** The circuit and rate of a subscriber. Subscribers with the same `limiter` share them. */
export interface SubscriberLimits {
  /** The subscriber's number in the ledger. */
  readonly id: number
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  readonly limiter: string
  readonly circuit: CircuitView | null
  readonly rate: RateView | null
}

async function limitsIn({ pool }: Pick<LedgerTables, 'pool'>): Promise<SubscriberLimits[]> {
  return (await limitedSubscribers(pool)).map((row) => ({
    id: row.id,
    tenant: row.tenant,
    source: row.source,
    subscriber: row.subscriber,
    limiter: row.limiter,
    circuit: row.hasCircuit ? circuitOf(row) : null,
    rate: rateOf(row),
  }))
}

/** Only subscribers that have a circuit or a rate. */
export const listLimits = everywhere(limitsIn, (all) => all.flat())

function circuitOf(row: LimitedRow): CircuitView {
  const { state, since, reason, nextProbeAt, isProbing } = row
  const isClosed = state === 'closed'
  return {
    state,
    since,
    reason,
    nextProbeAt,
    isProbing,
    failedProbes: isClosed ? 0 : row.failedProbes,
    passedProbes: isClosed ? 0 : row.passedProbes,
  }
}

function rateOf({ perSecond, burst, tokens }: LimitedRow): RateView | null {
  return perSecond === null || burst === null ? null : { perSecond, burst, tokens: Math.floor(tokens ?? 0) }
}
