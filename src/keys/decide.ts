import type { KeyRecord } from './record.ts'

/*
 * The protocol as pure functions from one record to the next. Stores that decide in JavaScript call
 * these functions inside their atomic step. Stores that decide elsewhere (SQL, Lua) implement the
 * same rules there, and the contract suite checks that they agree. The model checker explores all
 * interleavings of these functions.
 */

export interface AcquireRequest {
  readonly fingerprint: string
  readonly holder: string
  readonly lockMs: number
  /** How long the record outlives its lock if its holder never reports back. */
  readonly ttlMs: number
  /** What happens when a lock expires: another run takes over, or the outcome becomes unknown. */
  readonly onCrash: 'takeover' | 'unknown'
}

export type AcquireOutcome = 'acquired' | 'mismatch' | 'locked' | 'completed' | 'unknown'

export interface AcquireDecision {
  readonly outcome: AcquireOutcome
  /** The record after the decision. Write it only if it differs from the record before. */
  readonly record: KeyRecord
}

/**
 * `skewMs` is the largest difference between the clocks of the deciding processes. A lock counts as
 * expired only when it has expired on every clock.
 */
export function decideAcquire(
  before: KeyRecord | undefined,
  request: AcquireRequest,
  now: number,
  skewMs = 0,
): AcquireDecision {
  const take = (after: KeyRecord['after']): AcquireDecision => ({
    outcome: 'acquired',
    record: locked(before, request, after, now),
  })
  if (before === undefined || isExpired(before, now)) return take('nothing')
  // Checked before the state, so that a different request cannot learn the outcome of this one.
  if (before.fingerprint !== request.fingerprint) return { outcome: 'mismatch', record: before }
  if (before.state === 'released') return take('release')
  if (before.state !== 'locked') return { outcome: before.state, record: before }
  // The same holder retries because the response to its first acquire was lost.
  if (before.holder === request.holder) return { outcome: 'acquired', record: before }
  if (before.lockUntil + skewMs > now) return { outcome: 'locked', record: before }
  if (request.onCrash === 'takeover') return take('crash')
  // The fence does not change, so the holder can still settle the record if it returns.
  return { outcome: 'unknown', record: { ...before, state: 'unknown' } }
}

export interface Completion {
  readonly to: 'completed'
  readonly result: Uint8Array
  readonly ttlMs: number
}

export type Settlement =
  | Completion
  | { readonly to: 'released'; readonly ttlMs: number }
  | { readonly to: 'unknown'; readonly ttlMs: number }

/**
 * The record after its holder settles it. Undefined if the fence is stale, because then nothing may
 * change.
 */
export function decideSettle(
  before: KeyRecord | undefined,
  fence: number,
  settlement: Settlement,
  now: number,
): KeyRecord | undefined {
  if (!isHeldBy(before, fence, now)) return undefined
  return {
    ...before,
    state: settlement.to,
    expiresAt: now + settlement.ttlMs,
    result: settlement.to === 'completed' ? settlement.result : undefined,
  }
}

/** The record after a heartbeat. An expired lock is revived if no other run has taken it over. */
export function decideExtend(
  before: KeyRecord | undefined,
  fence: number,
  { lockMs, ttlMs }: Pick<AcquireRequest, 'lockMs' | 'ttlMs'>,
  now: number,
): KeyRecord | undefined {
  if (!isLockedBy(before, fence, now)) return undefined
  return { ...before, lockUntil: now + lockMs, expiresAt: now + lockMs + ttlMs }
}

/** An expired record counts as absent, whether or not it has been swept. */
export function isExpired(record: KeyRecord, now: number): boolean {
  return record.expiresAt <= now
}

/** Whether the holder of this fence may still save a step or extend the lock. */
export function isLockedBy(record: KeyRecord | undefined, fence: number, now: number): record is KeyRecord {
  return isHeldBy(record, fence, now) && record.state === 'locked'
}

function isHeldBy(record: KeyRecord | undefined, fence: number, now: number): record is KeyRecord {
  return (
    record !== undefined &&
    !isExpired(record, now) &&
    record.fence === fence &&
    (record.state === 'locked' || record.state === 'unknown')
  )
}

function locked(
  before: KeyRecord | undefined,
  request: AcquireRequest,
  after: KeyRecord['after'],
  now: number,
): KeyRecord {
  return {
    state: 'locked',
    // The fence is at least the current time. Even after a record is swept, the next fence is
    // higher than the last one.
    fence: Math.max((before?.fence ?? 0) + 1, now),
    fingerprint: request.fingerprint,
    holder: request.holder,
    after,
    lockedAt: now,
    lockUntil: now + request.lockMs,
    expiresAt: now + request.lockMs + request.ttlMs,
    result: undefined,
  }
}
