import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { askToAcquire, askToRead, askToSettle } from './ask.ts'
import type { Completion, Settlement } from './decide.ts'
import { harmless, type Observe } from './events.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { afterFailure, crashPolicy, type Policy } from './policy.ts'
import type { KeyRecord } from './record.ts'
import { type Step, type Steps, trackSteps } from './steps.ts'
import { type Acquired, isTransactional, type KeyId, type KeyStore, type TransactionWork } from './store.ts'

/*
 * The core of once() and of the HTTP layer: acquire the key → run the task under a heartbeat →
 * settle the record. The callers define what to run and how to interpret its result.
 */

export interface Task<Value> {
  readonly store: KeyStore
  readonly id: KeyId
  readonly fingerprint: string
  /**
   * Computes this request's fingerprint with the recipe that produced a stored fingerprint. Returns
   * undefined if that recipe is not configured.
   */
  readonly refingerprint?: (stored: string) => string | undefined
  /** The id of the request or message. Stored in the record to help people who inspect it. */
  readonly label?: string
  readonly policy: Policy
  readonly observe: Observe
  readonly run: (context: RunContext) => Promise<Ended<Value>>
  /**
   * Called after a crash under `onCrash: 'reconcile'`. Returns how the crashed run ended, or `run`
   * if it had no effect.
   */
  readonly reconcile?: (record: KeyRecord) => Promise<Ended<Value> | 'run' | 'unknown'>
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

/** The result of a run, and how to settle the record. With `failed`, the handler's kind decides. */
export interface Ended<Value> {
  readonly value: Value
  readonly settle: Completion | { readonly to: 'released' | 'unknown' | 'failed' }
}

export interface RunContext {
  /** Aborted when the lock is lost. Stop then, because another run may hold the key. */
  readonly signal: AbortSignal
  readonly fence: number
  readonly step: Step
  /** The transaction that commits together with the result, if the handler is transactional. */
  readonly tx: unknown
}

export type Outcome<Value> =
  /**
   * The task ran. `kept` is false if the store could not be updated; then the crash policy decides
   * about retries.
   */
  | { readonly outcome: 'ran'; readonly value: Value; readonly kept: boolean }
  /** The task ran earlier. `record` holds its stored result. */
  | { readonly outcome: 'completed'; readonly record: KeyRecord }
  | {
      readonly outcome: 'locked' | 'mismatch' | 'unknown'
      readonly record: KeyRecord
      readonly now: number
    }
  /** The task ran, but another run took over the key and has not finished yet. */
  | { readonly outcome: 'lost'; readonly value: Value }

export async function run<Value>(given: Task<Value>): Promise<Outcome<Value>> {
  const task = { ...given, observe: harmless(given.observe) }
  const { observe, store, policy } = task
  if (store.maxResultBytes !== undefined && policy.maxResultBytes > store.maxResultBytes)
    throw new HookonceError(
      'CONFIG_INVALID',
      `maxResultBytes is ${policy.maxResultBytes}, but a record of this store holds ${store.maxResultBytes}`,
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
  if (task.resumes && acquired.record.after === 'nothing') await giveBack(task, acquired.record)
  if (acquired.record.after === 'crash') observe({ what: 'taken_over' })
  return hold(task, acquired.record, heldSince)
}

/**
 * Releases a key that a resumed task should not have acquired. The next request finds it unused.
 */
async function giveBack<Value>({ store, id, policy }: Task<Value>, record: KeyRecord): Promise<never> {
  const settlement = { to: 'released', ttlMs: 1 } as const
  await askToSettle(store, id, record.fence, { settlement, timeoutMs: policy.storeTimeoutMs })
  throw new HookonceError('PLEDGE_GONE', 'the record of what was to be resumed has expired')
}

/** Waiters poll at growing intervals, so that many waiters on one key do not overload the store. */
const FIRST_LOOK_MS = 25
const LAST_LOOK_MS = 500

async function acquireOrWait<Value>(task: Task<Value>): Promise<{ acquired: Acquired; heldSince: number }> {
  const { policy } = task
  const holder = task.label === undefined ? randomUUID() : `${storable(task.label)} ${randomUUID()}`
  const waitUntil = policy.waitMs === 'off' ? 0 : performance.now() + policy.waitMs
  let fingerprint = task.fingerprint
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_LOOK_MS)) {
    const heldSince = performance.now()
    const acquired = await askToAcquire(
      task.store,
      task.id,
      {
        fingerprint,
        holder,
        lockMs: policy.lockMs,
        ttlMs: policy.ttlMs,
        onCrash: crashPolicy(policy) === 'unknown' ? 'unknown' : 'takeover',
      },
      policy.storeTimeoutMs,
    )
    if (acquired.outcome === 'mismatch' && fingerprint === task.fingerprint) {
      // After a deploy that changes the recipe, keys stored under the old recipe must still match.
      const before = task.refingerprint?.(acquired.record.fingerprint)
      if (before !== undefined && before === acquired.record.fingerprint) {
        fingerprint = before
        continue
      }
    }
    const leftMs = waitUntil - performance.now()
    if (acquired.outcome !== 'locked' || leftMs <= 0) return { acquired, heldSince }
    await delay(Math.min(pauseMs, leftMs))
  }
}

/** Databases reject unpaired surrogates, and some reject NUL. */
function storable(label: string): string {
  return label.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
}

async function hold<Value>(task: Task<Value>, record: KeyRecord, heldSince: number): Promise<Outcome<Value>> {
  const { store, id, policy, observe, pledge } = task
  const { fence } = record
  const steps = trackSteps({
    id,
    fence,
    handler: policy.handler,
    maxResultBytes: policy.maxResultBytes,
    kept: store.steps,
    again: record.after !== 'nothing',
    beforeFirst: pledge && (() => makePledge(task, pledge)),
    onNotKept: (error) => observe({ what: 'not_persisted', error }),
  })
  const heartbeat = startHeartbeat({ store, id, fence, lock: policy, heldSince, observe })
  const held: Held = { record, steps, heartbeat }
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

async function makePledge<Value>(
  { store, id, policy }: Task<Value>,
  { name, bytes, dueMs }: TaskPledge,
): Promise<void> {
  await store.pledges?.save(id, { name, bytes: bytes() }, { dueMs, ttlMs: policy.ttlMs })
}

/** The state of one run between acquiring and settling. */
interface Held {
  readonly record: KeyRecord
  readonly steps: Steps
  readonly heartbeat: Heartbeat
}

async function runAndSettle<Value>(task: Task<Value>, held: Held): Promise<Outcome<Value>> {
  let ended: Ended<Value>
  try {
    ended = await task.run(contextOf(held, undefined))
  } catch (error) {
    await settleFailure(task, held, error)
    throw error
  }
  return settle(task, held, ended)
}

/** Commits the handler's own writes and the stored result in one transaction. */
async function runInTransaction<Value>(task: Task<Value>, held: Held): Promise<Outcome<Value>> {
  const { store, id } = task
  if (!isTransactional(store))
    throw new HookonceError('CONFIG_INVALID', "handler: 'transactional' needs a store with transactions")
  let completed: Ended<Value> | undefined
  try {
    const work: TransactionWork<unknown, Ended<Value>> = async (tx) => {
      const ended = await task.run(contextOf(held, tx))
      if (ended.settle.to !== 'completed') return { value: ended, completion: undefined }
      completed = ended
      return { value: ended, completion: ended.settle }
    }
    // A transaction idle for longer than its lock belongs to a frozen process. The server ends it,
    // so that the next holder does not wait for its row locks.
    const limits = { idleMs: task.policy.lockMs }
    const { value: ended, end } = await store.transaction(id, held.record.fence, work, limits)
    if (end === 'committed') return ran(task, ended.value)
    if (end === 'rolled back') return await settle(task, held, ended)
    const instead = await askToRead(store, id, task.policy.storeTimeoutMs).catch(() => undefined)
    return lost(task, held, ended.value, instead)
  } catch (error) {
    // If the commit is still in progress, this release waits for it. If the commit succeeds, the
    // release changes nothing.
    const instead = await settleFailure(task, held, error)
    if (instead?.state !== 'completed') throw error
    if (instead.fence === held.record.fence) {
      if (!completed) throw error
      return ran(task, completed.value)
    }
    // The server ended this transaction, and another run completed the key in the meantime. The
    // lost lock has already been observed.
    if (instead.fingerprint !== held.record.fingerprint) throw error
    return { outcome: 'completed', record: instead }
  }
}

const HEARTBEAT = Symbol('heartbeat')

/**
 * One shared accessor. With one accessor per context, every context would get its own hidden class.
 */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly [HEARTBEAT]: Heartbeat }) {
    return this[HEARTBEAT].signal()
  },
}

function contextOf({ record, steps, heartbeat }: Held, tx: unknown): RunContext {
  const context = { fence: record.fence, step: steps.step, tx, [HEARTBEAT]: heartbeat }
  return Object.defineProperty(context, 'signal', SIGNAL) as typeof context & Pick<RunContext, 'signal'>
}

async function settle<Value>(
  task: Pick<Task<unknown>, 'store' | 'id' | 'policy' | 'observe' | 'pledge'>,
  held: Held,
  { value, settle: end }: Ended<Value>,
): Promise<Outcome<Value>> {
  const { store, id, policy, observe } = task
  held.heartbeat.stop()
  const settlement = settlementOf(end, policy, held.steps.begun())
  try {
    const { settled, instead } = await askToSettle(store, id, held.record.fence, {
      settlement,
      timeoutMs: policy.storeTimeoutMs,
    })
    if (!settled) return lost(task, held, value, instead)
    if (settlement.to === 'completed') redeem(task, held)
    return ran(task, value)
  } catch (error) {
    observe({ what: 'not_persisted', error })
    return { outcome: 'ran', value, kept: false }
  }
}

/**
 * Not awaited. If this drop fails, the completer drops the pledge later, because it reads the
 * record first.
 */
function redeem({ store, id, pledge }: Pick<Task<unknown>, 'store' | 'id' | 'pledge'>, held: Held): void {
  const mayBeThere = held.steps.begun() > 0 || held.record.after !== 'nothing'
  if (pledge && mayBeThere) store.pledges?.drop(id, pledge.name).catch(() => undefined)
}

function ran<Value>({ observe }: Pick<Task<unknown>, 'observe'>, value: Value): Outcome<Value> {
  observe({ what: 'ran' })
  return { outcome: 'ran', value, kept: true }
}

function lost<Value>(
  { observe }: Pick<Task<unknown>, 'observe'>,
  { record }: Held,
  value: Value,
  instead: KeyRecord | undefined,
): Outcome<Value> {
  observe({ what: 'lost_lock' })
  return instead?.state === 'completed' && instead.fingerprint === record.fingerprint
    ? { outcome: 'completed', record: instead }
    : { outcome: 'lost', value }
}

function settlementOf(end: Ended<unknown>['settle'], policy: Policy, stepsBegun: number): Settlement {
  if (end.to === 'completed') return end
  const { ttlMs } = policy
  if (end.to === 'unknown') return { to: 'unknown', ttlMs }
  // A step that began may have had an effect, even if the handler asks for a release.
  if (end.to === 'released' && stepsBegun > 0 && policy.handler !== 'resumable')
    return { to: 'unknown', ttlMs }
  return { to: end.to === 'failed' ? afterFailure(policy.handler, stepsBegun) : 'released', ttlMs }
}

/**
 * Settles the record after the handler threw. The caller receives the handler's error, so an error
 * of the store is only observed. If another run holds the key, returns the current record.
 */
async function settleFailure<Value>(
  { store, id, policy, observe }: Task<Value>,
  held: Held,
  thrown: unknown,
): Promise<KeyRecord | undefined> {
  observe({ what: 'failed', error: thrown })
  held.heartbeat.stop()
  const settlement = settlementOf({ to: 'failed' }, policy, held.steps.begun())
  try {
    const { settled, instead } = await askToSettle(store, id, held.record.fence, {
      settlement,
      timeoutMs: policy.storeTimeoutMs,
    })
    if (!settled) observe({ what: 'lost_lock' })
    return instead
  } catch (error) {
    observe({ what: 'not_persisted', error })
    return undefined
  }
}
