import type { TransactionAdapter } from '../effects/adapters/contract.ts'
import { downstreamKey } from '../effects/downstream-key.ts'
import { effect } from '../effects/effect.ts'
import { fetchOnce } from '../effects/fetch-once.ts'
import { hasHandedOver } from '../effects/hand-over.ts'
import type { Latest } from '../effects/latest.ts'
import { inOperationSpan } from '../effects/observed-operation.ts'
import { stop } from '../effects/run.ts'
import { step } from '../effects/step.ts'
import {
  DEFAULT_NAME,
  refuseInside,
  type TransactionOptions,
  transaction,
  type Work,
} from '../effects/transaction.ts'
import { HookonceError } from '../model/errors.ts'
import { Deferred } from '../model/handler-errors.ts'
import type { Interruption } from '../work/interruption.ts'
import type { Run } from './run.ts'
import type { Context } from './subscriber.ts'

const INTERRUPTION = Symbol('interruption')

/**
 * One accessor for all contexts: with its own accessor, every context would have its own hidden
 * class (decision 0016).
 */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly [INTERRUPTION]: Interruption }) {
    return this[INTERRUPTION].signal
  },
}

/**
 * The `ctx` of a handler. Its members are functions, not methods, because handlers destructure it.
 */
export function contextOf(run: Run): Context {
  const { job, epoch, attempt, subscriber, interruption, progress } = run
  const { operations, handOver } = progress
  const { inSpan } = run.business.observer

  const ctx = {
    attempt,
    [INTERRUPTION]: interruption,
    idempotencyKey: (name) =>
      downstreamKey({ receiptId: job.receiptId, subscriber: subscriber.name, name, epoch }),
    write(...statements) {
      requireOpen(run, 'ctx.write()')
      handOver.write(statements)
    },
    publish(topic, payload, options) {
      requireOpen(run, 'ctx.publish()')
      return handOver.publish(topic, payload, options)
    },
    transaction: <Result>(
      work: Work<Result>,
      options: TransactionOptions & { on?: TransactionAdapter<unknown> } = {},
    ) => {
      const pendingBefore = operations.firstPending
      return operations.start(named('ctx.transaction', options.name), async () => {
        requireOutside(run, 'ctx.transaction()')
        if (options.last) requireNothingLeft(run, pendingBefore)
        if (!inSpan) return transaction(run, work, options)
        const { name = DEFAULT_NAME } = options
        const inside = () => transaction(run, work, options)
        return inOperationSpan(inSpan, run, { kind: 'transaction', name, work: inside })
      })
    },
    step: (name, work, options = {}) =>
      operations.start(named('ctx.step', name), async () => {
        requireOutside(run, 'ctx.step()')
        if (!inSpan) return step(run, name, work, options)
        const inside = () => step(run, name, work, options)
        return inOperationSpan(inSpan, run, { kind: 'step', name, work: inside })
      }),
    effect: (key, work, options = {}) =>
      operations.start(named('ctx.effect', key), async () => {
        requireOutside(run, 'ctx.effect()')
        return effect(run, key, work, options)
      }),
    fetch: (url, init) =>
      operations.start(named('ctx.fetch', init.effect), async () => {
        requireOutside(run, 'ctx.fetch()')
        return fetchOnce(run, url, init)
      }),
    latest: (entity, version, work, { name = `latest ${entity}`, ...options } = {}) =>
      operations.start(named('ctx.latest', entity), async () => {
        requireOutside(run, 'ctx.latest()')
        const apply = () =>
          transaction(run, (tx) => tx.latest(entity, version, (current) => work(tx, current), options), {
            name,
          })
        const outcome = await (inSpan
          ? inOperationSpan(inSpan, run, { kind: 'transaction', name, work: apply })
          : apply())
        return remembered(run, outcome)
      }),
    defer(delayMs, reason) {
      requireOpen(run, 'ctx.defer()')
      throw stop(run, new Deferred(delayMs, reason))
    },
  } satisfies Omit<Context, 'signal'> & { [INTERRUPTION]: Interruption }

  return Object.defineProperty(ctx, 'signal', SIGNAL) as typeof ctx & Pick<Context, 'signal'>
}

function requireOpen(run: Run, call: string): void {
  const { interruption, progress } = run
  if (interruption.reason) throw interruption.reason
  // Checked before the lease, which may also have ended by now.
  if (progress.isClosed)
    throw new HookonceError('CONTEXT_CLOSED', `${call} was called after the handler had returned`)
  run.requireHeld()
  if (progress.stopped) throw progress.stopped
  if (progress.settled)
    throw new HookonceError('CONTEXT_CLOSED', `${call} was called after the last transaction`)
}

/**
 * A call to another service, and its own commit, cannot be rolled back with an open transaction.
 */
function requireOutside(run: Run, call: string): void {
  requireOpen(run, call)
  refuseInside(run, call)
}

/**
 * A last transaction completes the job. Writes and messages that wait for the completion would be
 * lost, and so would pending operations.
 */
function requireNothingLeft({ progress }: Run, pending: string | undefined): void {
  if (pending !== undefined) {
    throw new HookonceError(
      'CONTEXT_CLOSED',
      `a last transaction would end the job before ${pending} has ended; await it first`,
    )
  }
  if (!hasHandedOver(progress.handOver)) return
  throw new HookonceError(
    'CONTEXT_CLOSED',
    'a last transaction would lose the writes of ctx.write() and ctx.publish(); use tx.query() and tx.publish()',
  )
}

/** Starts an operation under the name that the handler gave it. */
function named(call: string, name: string | undefined): string {
  return name === undefined ? `${call}()` : `${call}("${name}")`
}

/** An outcome that an earlier attempt recorded counts as an outcome of this run. */
function remembered<Result>({ progress: { entityOutcomes } }: Run, outcome: Latest<Result>): Latest<Result> {
  if (!entityOutcomes.includes(outcome)) entityOutcomes.push(outcome)
  return outcome
}
