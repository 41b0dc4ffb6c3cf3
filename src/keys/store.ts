import type { AcquireDecision, AcquireRequest, Completion, Settlement } from './decide.ts'
import type { KeyRecord } from './record.ts'

/**
 * The contract of a store. Every verb is one atomic step and one round trip (acquiring may take
 * another one when it races); each behaves as the function of decide.ts that it names. The suite in
 * contract/ holds a store to it.
 *
 * A store that cannot answer throws: what it throws is passed on as the cause of KEY_STORE_DOWN.
 */
export interface KeyStore {
  /** `decideAcquire`, by the clock of the store. */
  acquire(id: KeyId, request: AcquireRequest): Promise<Acquired>
  /** `decideExtend`: false when the fence is stale. */
  extend(id: KeyId, fence: number, lock: Pick<AcquireRequest, 'lockMs' | 'ttlMs'>): Promise<boolean>
  /** `decideSettle`: false when the fence is stale. */
  settle(id: KeyId, fence: number, settlement: Settlement): Promise<boolean>
  /** The record as it is, unless it has expired. */
  read(id: KeyId): Promise<KeyRecord | undefined>
  /**
   * Deletes up to `limit` expired records, and says how many. Absent where the store does that by
   * itself.
   */
  sweep?(limit: number): Promise<number>
  /**
   * Named results inside one key, for handlers that resume. Absent where the store cannot hold
   * them.
   */
  readonly steps?: KeySteps
  /** What a completer needs to end what was left. Absent where the store cannot list it. */
  readonly pledges?: KeyPledges
  /**
   * The largest result that fits into a record. Absent where there is no limit worth speaking of.
   */
  readonly maxResultBytes?: number
  close(): Promise<void>
}

/** The hash that stands for (tenant, key), in 64 hexadecimal digits: see `keyId`. */
export type KeyId = string

export interface Acquired extends AcquireDecision {
  /**
   * The clock of the store when it decided: what `lockUntil` and `expiresAt` are measured against.
   */
  readonly now: number
}

/** A store in which the caller's own writes and the completion can be one commit. */
export interface TransactionalKeyStore<Tx> extends KeyStore {
  /**
   * Runs `work` in a transaction and completes in the same commit. Rolled back when `work` throws,
   * when it completes nothing, and when the fence turns out to be stale.
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
   * The server ends a transaction that is silent for this long: a frozen holder must not keep its
   * locks.
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

/** Results of finished steps: they live as long as the record, and end with its completion. */
export interface KeySteps {
  /** False when the fence is stale. */
  save(id: KeyId, fence: number, name: string, result: Uint8Array): Promise<boolean>
  load(id: KeyId): Promise<ReadonlyMap<string, Uint8Array>>
}

/**
 * How to run again what was begun, in case that nobody comes back for it. A hint beside the record,
 * which alone says what is true: a pledge may outlive what it is about, and whoever acts on it
 * looks at the record first.
 */
export interface KeyPledges {
  /** Replaces an earlier one of this key. */
  save(id: KeyId, pledge: Pledge, times: PledgeTimes): Promise<void>
  /**
   * Up to `limit` of that name that are due, the longest due first. Each is due again after
   * `leaseMs`, and not before.
   */
  due(name: string, limit: number, leaseMs: number): Promise<readonly DuePledge[]>
  drop(id: KeyId, name: string): Promise<void>
}

export interface Pledge {
  /** Of those who know how to keep it: completers ask by name. */
  readonly name: string
  readonly bytes: Uint8Array
}

export interface PledgeTimes {
  readonly dueMs: number
  /** After which nobody is told of it any more. */
  readonly ttlMs: number
}

export interface DuePledge {
  readonly id: KeyId
  readonly bytes: Uint8Array
}

export function isTransactional(store: KeyStore): store is TransactionalKeyStore<unknown> {
  return 'transaction' in store && typeof store.transaction === 'function'
}
