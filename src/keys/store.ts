import type { AcquireDecision, AcquireRequest, Completion, Settlement } from './decide.ts'
import type { KeyRecord } from './record.ts'

/**
 * The contract of a store. Every verb is one atomic step and one round trip. A second round trip may
 * be needed after a race, or if the first one changed nothing because there is more to decide. Each
 * verb behaves like the function of decide.ts that it names. The suite in contract/ verifies a store.
 *
 * A store that cannot answer throws. Its error becomes the cause of KEY_STORE_DOWN.
 */
export interface KeyStore {
  /** `decideAcquire`, by the store's clock. */
  acquire(id: KeyId, request: AcquireRequest): Promise<Acquired>
  /** `decideExtend`. Returns false if the fence is stale. */
  extend(id: KeyId, fence: number, lock: Pick<AcquireRequest, 'lockMs' | 'ttlMs'>): Promise<boolean>
  /** `decideSettle`. Returns false if the fence is stale. */
  settle(id: KeyId, fence: number, settlement: Settlement): Promise<boolean>
  /** The current record, unless it has expired. */
  read(id: KeyId): Promise<KeyRecord | undefined>
  /**
   * Deletes up to `limit` expired records and returns how many. Absent if the store deletes them by
   * itself.
   */
  sweep?(limit: number): Promise<number>
  /** Named results inside one key, for resumable handlers. Absent if the store cannot hold them. */
  readonly steps?: KeySteps
  /** What a completer needs to finish abandoned tasks. Absent if the store cannot list pledges. */
  readonly pledges?: KeyPledges
  /** The largest result that fits into a record. Absent if there is no practical limit. */
  readonly maxResultBytes?: number
  close(): Promise<void>
}

/** The hash of (tenant, key) in 64 hexadecimal digits: see `keyId`. */
export type KeyId = string

export interface Acquired extends AcquireDecision {
  /**
   * The store's clock at the time of the decision. `lockUntil` and `expiresAt` are on the same
   * clock.
   */
  readonly now: number
}

/** A store that can commit the caller's own writes and the completion in one transaction. */
export interface TransactionalKeyStore<Tx> extends KeyStore {
  /**
   * Runs `work` in a transaction and completes the key in the same commit. Rolls back if `work`
   * throws, if it returns no completion, or if the fence is stale.
   */
  transaction<Value>(
    id: KeyId,
    fence: number,
    work: TransactionWork<Tx, Value>,
    limits?: TransactionLimits,
  ): Promise<TransactionEnd<Value>>
}

export interface TransactionLimits {
  /**
   * The server ends a transaction that is idle for this long, so that a frozen holder does not keep
   * its row locks.
   */
  readonly idleMs?: number
}

export type TransactionWork<Tx, Value> = (
  tx: Tx,
) => Promise<{ readonly value: Value; readonly completion: Completion | undefined }>

export interface TransactionEnd<Value> {
  readonly value: Value
  readonly end: 'committed' | 'rolled back' | 'stale'
}

/** Results of finished steps. They live as long as the record and are deleted when it completes. */
export interface KeySteps {
  /** Returns false if the fence is stale. */
  save(id: KeyId, fence: number, name: string, result: Uint8Array): Promise<boolean>
  load(id: KeyId): Promise<ReadonlyMap<string, Uint8Array>>
}

/**
 * Pledges describe how to run an abandoned task again. A pledge is only a hint and may outlive its
 * task. The record is authoritative, so read the record before acting on a pledge.
 */
export interface KeyPledges {
  /** Replaces an earlier pledge of the same key. */
  save(id: KeyId, pledge: Pledge, times: PledgeTimes): Promise<void>
  /**
   * Returns up to `limit` due pledges of that name, the longest due first. A returned pledge is due
   * again after `leaseMs`.
   */
  due(name: string, limit: number, leaseMs: number): Promise<readonly DuePledge[]>
  drop(id: KeyId, name: string): Promise<void>
}

export interface Pledge {
  /** Which completer can handle the pledge: completers look up pledges by name. */
  readonly name: string
  readonly bytes: Uint8Array
}

export interface PledgeTimes {
  readonly dueMs: number
  /** After this time `due` no longer returns the pledge. */
  readonly ttlMs: number
}

export interface DuePledge {
  readonly id: KeyId
  readonly bytes: Uint8Array
}

export function isTransactional(store: KeyStore): store is TransactionalKeyStore<unknown> {
  return 'transaction' in store && typeof store.transaction === 'function'
}
