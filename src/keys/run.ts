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
 * The core: acquire → run under a heartbeat → settle. once() and the HTTP layer say what to run and
 * what its end means; here is what must hold in between.
 */

export interface Task<Value> {
  readonly store: KeyStore
  readonly id: KeyId
  readonly fingerprint: string
  /**
   * The fingerprint of the same request by the recipe of a stored one; undefined where that recipe
   * is not known.
   */
  readonly refingerprint?: (stored: string) => string | undefined
  /** For people who look at the record: the id of the request or message. */
  readonly label?: string
  readonly policy: Policy
  readonly observe: Observe
  readonly run: (context: RunContext) => Promise<Ended<Value>>
  /**
   * After a crash, under `onCrash: 'reconcile'`: how it had ended; `run` where nothing had
   * happened.
   */
  readonly reconcile?: (record: KeyRecord) => Promise<Ended<Value> | 'run' | 'unknown'>
  /**
   * How a completer can run this again: kept from the first step on, and until it has completed.
   */
  readonly pledge?: TaskPledge | undefined
  /**
   * Throws PLEDGE_GONE where nothing of this key is left: its finished steps are forgotten, and
   * would run again.
   */
  readonly resumes?: boolean
}

export interface TaskPledge {
  readonly name: string
  readonly bytes: () => Uint8Array
  readonly dueMs: number
}

/**
 * What a run came to, and what is to be kept of it. `failed` leaves it to what is known of the
 * handler.
 */
export interface Ended<Value> {
  readonly value: Value
  readonly settle: Completion | { readonly to: 'released' | 'unknown' | 'failed' }
}

export interface RunContext {
  /** Aborted when the lock is lost: stop, somebody else may be at it. */
  readonly signal: AbortSignal
  readonly fence: number
  readonly step: Step
  /** The transaction that commits with the result, where the handler is transactional. */
  readonly tx: unknown
}

export type Outcome<Value> =
  /**
   * It ran. `kept` is false where the store could not be told: the crash policy will decide about a
   * repeat.
   */
  | { readonly outcome: 'ran'; readonly value: Value; readonly kept: boolean }
  /** It ran before: this is what it left. */
  | { readonly outcome: 'completed'; readonly record: KeyRecord }
  | {
      readonly outcome: 'locked' | 'mismatch' | 'unknown'
      readonly record: KeyRecord
      readonly now: number
    }
  /** It ran, but another run has taken the key meanwhile and has not ended yet. */
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

/** Taken by mistake: whoever comes with this key next finds it as new as it was. */
async function giveBack<Value>({ store, id, policy }: Task<Value>, record: KeyRecord): Promise<never> {
  const settlement = { to: 'released', ttlMs: 1 } as const
  await askToSettle(store, id, record.fence, { settlement, timeoutMs: policy.storeTimeoutMs })
  throw new HookonceError('PLEDGE_GONE', 'the record of what was to be resumed has expired')
}

/** Looks again at growing intervals, so that many waiters on one key do not keep the store busy. */
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
      // A release that changed the recipe must not refuse the keys that were there before it.
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

/** No database holds half a character, and some hold no NUL. */
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
      // When this throws, the lock runs out once more, and the next one asks again.
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

/** What one run holds between its acquisition and its settlement. */
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

/** The handler's own writes, and what is kept of its end, in one commit. */
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
    // Silent for longer than its lock, it is frozen: whoever takes over must not wait for what it
    // has locked.
    const limits = { idleMs: task.policy.lockMs }
    const { value: ended, end } = await store.transaction(id, held.record.fence, work, limits)
    if (end === 'committed') return ran(task, ended.value)
    if (end === 'rolled back') return await settle(task, held, ended)
    const instead = await askToRead(store, id, task.policy.storeTimeoutMs).catch(() => undefined)
    return lost(task, held, ended.value, instead)
  } catch (error) {
    // Releasing waits behind a commit that is still under way, and changes nothing if that
    // succeeds.
    const instead = await settleFailure(task, held, error)
    if (instead?.state !== 'completed') throw error
    if (instead.fence === held.record.fence) {
      if (!completed) throw error
      return ran(task, completed.value)
    }
    // The server ended it, and somebody else has done the same meanwhile. `observe` has heard of
    // the lock.
    if (instead.fingerprint !== held.record.fingerprint) throw error
    return { outcome: 'completed', record: instead }
  }
}

const HEARTBEAT = Symbol('heartbeat')

/** One accessor for all contexts: with one each, every context would have a shape of its own. */
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
 * Nobody waits for it: a pledge that stays is dropped by the completer, which looks at the record
 * first.
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
  // What a step began is known better than what the handler says of itself.
  if (end.to === 'released' && stepsBegun > 0 && policy.handler !== 'resumable')
    return { to: 'unknown', ttlMs }
  return { to: end.to === 'failed' ? afterFailure(policy.handler, stepsBegun) : 'released', ttlMs }
}

/**
 * The handler threw, and its error is what the caller must hear: a store that fails as well is only
 * counted. Returns the record that stands where this run's word did not count.
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
