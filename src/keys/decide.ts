import type { KeyRecord } from './record.ts'

/*
 * The protocol, as pure functions from a record to the next one. Stores that decide in JavaScript call them inside
 * their atomic step; stores that decide elsewhere (SQL, Lua) say the same in their language, and the contract suite
 * holds them to it. The model checker explores all interleavings over these very functions.
 */

export interface AcquireRequest {
  readonly fingerprint: string
  readonly holder: string
  readonly lockMs: number
  /** For how long a record outlives its lock, when its holder is never heard of again. */
  readonly ttlMs: number
  /** What becomes of a lock that ran out: another run, or a record that says that nobody knows. */
  readonly onCrash: 'takeover' | 'unknown'
}

export type AcquireOutcome = 'acquired' | 'mismatch' | 'locked' | 'completed' | 'unknown'

export interface AcquireDecision {
  readonly outcome: AcquireOutcome
  /** The record after the decision. It is to be written where it is another one than the record before. */
  readonly record: KeyRecord
}

export function decideAcquire(
  before: KeyRecord | undefined,
  request: AcquireRequest,
  now: number,
): AcquireDecision {
  const take = (after: KeyRecord['after']): AcquireDecision => ({
    outcome: 'acquired',
    record: locked(before, request, after, now),
  })
  if (before === undefined || isExpired(before, now)) return take('nothing')
  // Before the state: another request must not learn what became of this one.
  if (before.fingerprint !== request.fingerprint) return { outcome: 'mismatch', record: before }
  if (before.state === 'released') return take('release')
  if (before.state !== 'locked') return { outcome: before.state, record: before }
  // It asks again, because the reply to its acquisition was lost.
  if (before.holder === request.holder) return { outcome: 'acquired', record: before }
  if (before.lockUntil > now) return { outcome: 'locked', record: before }
  if (request.onCrash === 'takeover') return take('crash')
  // The fence stays: should the holder come back after all, it may still say how it ended.
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

/** The record after its holder's last word; undefined where the fence is stale and nothing may change. */
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

/** The record after a heartbeat. A lock that ran out is revived where nobody has noticed yet. */
export function decideExtend(
  before: KeyRecord | undefined,
  fence: number,
  { lockMs, ttlMs }: Pick<AcquireRequest, 'lockMs' | 'ttlMs'>,
  now: number,
): KeyRecord | undefined {
  if (!isHeldBy(before, fence, now) || before.state !== 'locked') return undefined
  return { ...before, lockUntil: now + lockMs, expiresAt: now + lockMs + ttlMs }
}

/** Past its time a record is not there, whether or not it has been swept. */
export function isExpired(record: KeyRecord, now: number): boolean {
  return record.expiresAt <= now
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
    // At least the time: after the record was swept, the fence of its last holder is still too old for the next.
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
