import { HookonceError } from '../model/errors.ts'
import { acquireOrWait, type KeyClaim } from './acquire-or-wait.ts'
import type { Observe } from './events.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { crashPolicy } from './policy.ts'
import type { KeyRecord } from './record.ts'
import { type HeldKey, lost, type Outcome, type RunEnd, ran, settle, settleFailure } from './settle.ts'
import { type Step, TrackedSteps } from './steps.ts'
import { isTransactional, type TransactionWork } from './store.ts'
import { readWithRetry, settleWithRetry } from './store-calls.ts'

export type { Outcome, RunEnd } from './settle.ts'

/*
 * The core of once() and of the HTTP layer: acquire the key → run the task under a heartbeat →
 * settle the record. The callers define what to run and how to interpret its result.
 */

export interface Task<Value> extends KeyClaim {
  /** Must not throw: see `harmless`. */
  readonly observe: Observe
  readonly run: (context: RunContext) => Promise<RunEnd<Value>>
  /**
   * Called after a crash under `onCrash: 'reconcile'`. Returns how the crashed run ended, or `run`
   * if it had no effect.
   */
  readonly reconcile?: (record: KeyRecord) => Promise<RunEnd<Value> | 'run' | 'unknown'>
  /**
   * How a completer can run this task again. Stored when the first step begins and dropped when the
   * task completes.
   */
  readonly pledge?: TaskPledge | undefined
  /**
   * Throw PLEDGE_GONE if the record has expired. Its finished steps are gone, so they would run
   * again.
   */
  readonly resumes?: boolean
}

export interface TaskPledge {
  readonly name: string
  readonly bytes: () => Uint8Array
  readonly dueMs: number
}

export interface RunContext {
  /** Aborted when the lock is lost. Stop then, because another run may hold the key. */
  readonly signal: AbortSignal
  readonly fence: number
  readonly step: Step
  /** The transaction that commits together with the result, if the handler is transactional. */
  readonly tx: unknown
}

export async function run<Value>(task: Task<Value>): Promise<Outcome<Value>> {
  const { observe, store, policy } = task
  if (store.maxResultBytes !== undefined && policy.maxResultBytes > store.maxResultBytes)
    throw new HookonceError(
      'CONFIG_INVALID',
      `maxResultBytes is ${policy.maxResultBytes}; a record of this store holds at most ${store.maxResultBytes}`,
    )
  const { acquired, heldSince } = await acquireOrWait(task)
  if (acquired.outcome === 'completed') {
    observe({ what: 'replayed' })
    return { outcome: 'completed', record: acquired.record }
  }
  if (acquired.outcome !== 'acquired') {
    observe({ what: acquired.outcome })
    return { outcome: acquired.outcome, record: acquired.record, now: acquired.now }
  }
  if (task.resumes && acquired.record.after === 'nothing') await refuseToResume(task, acquired.record)
  if (acquired.record.after === 'crash') observe({ what: 'taken_over' })
  return runHolding(task, acquired.record, heldSince)
}

/** Releases a key that has no record to resume. The next request finds the key unused. */
async function refuseToResume<Value>({ store, id, policy }: Task<Value>, record: KeyRecord): Promise<never> {
  const settlement = { to: 'released', ttlMs: 1 } as const
  await settleWithRetry(store, id, record.fence, { settlement, timeoutMs: policy.storeTimeoutMs })
  throw new HookonceError('PLEDGE_GONE', 'the record of the task to resume has expired')
}

async function runHolding<Value>(
  task: Task<Value>,
  record: KeyRecord,
  heldSince: number,
): Promise<Outcome<Value>> {
  const { store, id, policy, observe, pledge } = task
  const { fence } = record
  const steps = new TrackedSteps({
    id,
    fence,
    handler: policy.handler,
    maxResultBytes: policy.maxResultBytes,
    kept: store.steps,
    again: record.after !== 'nothing',
    beforeFirst: pledge && (() => savePledge(task, pledge)),
    onNotKept: (error) => observe({ what: 'not_persisted', error }),
  })
  const heartbeat = startHeartbeat({ store, id, fence, lock: policy, heldSince, observe })
  const held: HeldKey = { record, steps, heartbeat }
  try {
    if (record.after === 'crash' && task.reconcile && crashPolicy(policy) === 'reconcile') {
      // If reconcile throws, the lock expires again and the next run calls reconcile again.
      const found = await task.reconcile(record)
      if (found === 'unknown') {
        await settle(task, held, { value: undefined, settle: { to: 'unknown' } })
        return { outcome: 'unknown', record, now: record.lockedAt }
      }
      if (found !== 'run') return await settle(task, held, found)
    }
    return await (policy.handler === 'transactional'
      ? runInTransaction(task, held)
      : runAndSettle(task, held))
  } finally {
    heartbeat.stop()
  }
}

async function savePledge<Value>(
  { store, id, policy }: Task<Value>,
  { name, bytes, dueMs }: TaskPledge,
): Promise<void> {
  await store.pledges?.save(id, { name, bytes: bytes() }, { dueMs, ttlMs: policy.ttlMs })
}

async function runAndSettle<Value>(task: Task<Value>, held: HeldKey): Promise<Outcome<Value>> {
  let end: RunEnd<Value>
  try {
    end = await task.run(contextOf(held, undefined))
  } catch (error) {
    await settleFailure(task, held, error)
    throw error
  }
  return settle(task, held, end)
}

/** Commits the handler's own writes and the stored result in one transaction. */
async function runInTransaction<Value>(task: Task<Value>, held: HeldKey): Promise<Outcome<Value>> {
  const { store, id } = task
  if (!isTransactional(store))
    throw new HookonceError(
      'CONFIG_INVALID',
      "handler: 'transactional' needs a store with transactions, such as postgresKeys()",
    )
  let completed: RunEnd<Value> | undefined
  try {
    const work: TransactionWork<unknown, RunEnd<Value>> = async (tx) => {
      const end = await task.run(contextOf(held, tx))
      if (end.settle.to !== 'completed') return { value: end, completion: undefined }
      completed = end
      return { value: end, completion: end.settle }
    }
    // A transaction idle for longer than its lock belongs to a frozen process. The server ends it,
    // so that the next holder does not wait for its row locks.
    const limits = { idleMs: task.policy.lockMs }
    const transaction = await store.transaction(id, held.record.fence, work, limits)
    if (transaction.end === 'committed') return ran(task, transaction.value.value)
    if (transaction.end === 'rolled back') return await settle(task, held, transaction.value)
    const current = await readWithRetry(store, id, task.policy.storeTimeoutMs).catch(() => undefined)
    return lost(task, held, transaction.value.value, current)
  } catch (error) {
    // If the commit is still in progress, this release waits for it. If the commit succeeds, the
    // release changes nothing.
    const current = await settleFailure(task, held, error)
    if (current?.state !== 'completed') throw error
    if (current.fence === held.record.fence) {
      if (!completed) throw error
      return ran(task, completed.value)
    }
    // The server ended this transaction, and another run completed the key in the meantime. The
    // lost lock has already been observed.
    if (current.fingerprint !== held.record.fingerprint) throw error
    return { outcome: 'completed', record: current }
  }
}

const HEARTBEAT = Symbol('heartbeat')

/** Shared: with one accessor per context, every context would get its own hidden class. */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly [HEARTBEAT]: Heartbeat }) {
    return this[HEARTBEAT].signal()
  },
}

function contextOf({ record, steps, heartbeat }: HeldKey, tx: unknown): RunContext {
  const context = { fence: record.fence, step: steps.step, tx, [HEARTBEAT]: heartbeat }
  return Object.defineProperty(context, 'signal', SIGNAL) as typeof context & Pick<RunContext, 'signal'>
}
