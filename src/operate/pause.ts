import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { probeNow } from '../ledger/jobs/circuits.ts'
import { setPaused } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { type Registered, registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'
import { isClaimable } from '../model/job-state.ts'
import { everywhere, whereTenant } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { unknownName } from './sources.ts'

/** A source, or one subscriber of it. */
export interface PauseTarget {
  readonly tenant?: string | undefined
  readonly source: string
  /** Undefined: every subscriber of the source. */
  readonly subscriber?: string | undefined
}

async function pauseIn(ledger: LedgerTables, target: PauseTarget, reason?: DecisionReason): Promise<boolean> {
  if (reason) requireReason(reason, 'a pause with a reason')
  const place = placeOf(target)
  const wasPaused = await inTransaction(ledger.pool, async (client) => {
    const before = await setPaused(client, { ...place, paused: true, reason: reason?.why })
    if (before === false && reason) await record(client, 'pause', { target, reason, detail: {} })
    await client.query('commit')
    return before
  })
  if (wasPaused === undefined) throw await unknownTarget(ledger, place)
  return !wasPaused
}

/**
 * Holds the jobs of a source or subscriber. Deliveries are still recorded. With a reason, the audit
 * records who paused it and why. Returns false, without any change, if it was already paused.
 */
export const pause = whereTenant(([{ tenant }]) => tenant, pauseIn)

/** The changes of a resume. */
export interface Resumed {
  readonly wasPaused: boolean
  /** The number of open circuits whose next probe is now due earlier. */
  readonly probes: number
}

async function resumeIn(
  ledger: LedgerTables,
  target: PauseTarget,
  reason?: DecisionReason,
): Promise<Resumed> {
  if (reason) requireReason(reason, 'a resume with a reason')
  const place = placeOf(target)
  const resumed = await inTransaction(ledger.pool, async (client) => {
    // Locks limiters before subscribers, in the same order as opening a circuit.
    const probes = await probeNow(client, place)
    const wasPaused = await setPaused(client, { ...place, paused: false })
    if (wasPaused !== undefined && (wasPaused || probes > 0) && reason)
      await record(client, 'resume', { target, reason, detail: { wasPaused, probes } })
    // An unknown name makes no probe due, even if a limiter has the source.
    await client.query(wasPaused === undefined ? 'rollback' : 'commit')
    return wasPaused === undefined ? undefined : { wasPaused, probes }
  })
  if (!resumed) throw await unknownTarget(ledger, place)
  return resumed
}

/**
 * Releases the jobs that a pause held. If a circuit is open, its next probe is due at once. With a
 * reason, the audit records both. If nothing was paused and no probe had to wait, nothing is
 * changed.
 */
export const resume = whereTenant(([{ tenant }]) => tenant, resumeIn)

function placeOf({ tenant = 'default', source, subscriber }: PauseTarget) {
  return { tenant, source, subscriber }
}

interface PauseDecision {
  readonly target: PauseTarget
  readonly reason: DecisionReason
  readonly detail: Readonly<Record<string, unknown>>
}

async function record(
  client: PoolClient,
  action: 'pause' | 'resume',
  { target, reason, detail }: PauseDecision,
): Promise<void> {
  const { tenant = 'default', source, subscriber } = target
  const subject = subscriber === undefined ? source : `${source} ${subscriber}`
  const { by: actor, why, address } = reason
  await recordAudit(client, { actor, action, why, tenant, subject, detail, address })
}

/**
 * Names similar sources, or the tenants that have a source of this name. Must not run inside a
 * transaction: callers that each hold a connection and wait for another connection would wait for
 * each other.
 */
async function unknownTarget(ledger: LedgerTables, target: PauseTarget): Promise<HookonceError> {
  const { kind, fault } = (await unknownName(ledger, target)) ?? {
    kind: 'source',
    fault: `source "${target.source}" changed during the request; retry it`,
  }
  return new HookonceError(kind === 'subscriber' ? 'SUBSCRIBER_UNKNOWN' : 'SOURCE_UNKNOWN', fault)
}

/** A source or subscriber that is paused. */
export type Paused = Registered & { readonly pausedAt: Date }

export interface PausedFilter {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
}

async function pausedIn(ledger: LedgerTables, { tenant, source }: PausedFilter = {}): Promise<Paused[]> {
  return (await registered(ledger))
    .filter((one) => (tenant ?? one.tenant) === one.tenant && (source ?? one.source) === one.source)
    .flatMap(({ pausedAt, ...one }) => (pausedAt ? [{ ...one, pausedAt }] : []))
}

export const listPaused = everywhere(pausedIn, (all) => all.flat())

/** A pause holds jobs that have not begun, and jobs that would be retried. */
export function isHeldByPause(state: string): boolean {
  return isClaimable(state)
}
