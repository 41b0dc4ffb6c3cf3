import type { Pool } from 'pg'
import type { TransactionAdapter } from '../effects/adapters/contract.ts'
import { Calls, type OnLateFailure } from '../effects/calls.ts'
import { downstreamKey } from '../effects/downstream-key.ts'
import { effect } from '../effects/effect.ts'
import { fetchOnce } from '../effects/fetch-once.ts'
import { handedOverBefore } from '../effects/handed-over.ts'
import { type Latest, staleReason } from '../effects/latest.ts'
import { type Outbox, outgoing } from '../effects/message.ts'
import { type EffectObserver, type HandlerRun, stop } from '../effects/run.ts'
import { step } from '../effects/step.ts'
import { refuseInside, type TransactionOptions, transaction, type Work } from '../effects/transaction.ts'
import { type CheckedWrite, checkWrite } from '../effects/write.ts'
import { stepNames, WRITTEN } from '../ledger/effects/steps.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import { Deferred } from '../model/handler-errors.ts'
import type { Interruption } from '../work/interruption.ts'
import type { Run } from './attempt.ts'
import type { Context } from './subscriber.ts'

/** The handler's context, and what it gathered. */
export interface OpenContext {
  readonly ctx: Context
  /**
   * Throws where the handler has left something open, or a failure unseen: then it has not done
   * what it says.
   */
  requireAwaited(): void
  /** Until what the handler began has ended. Cut off in the middle it would be known to nobody. */
  rest(): Promise<void>
  /**
   * Drops what the handler handed over and an earlier run had committed. Where the job's row does
   * not tell, it asks.
   */
  dropRepeated(): Promise<void>
  /** The handler has ended: nothing that it still does counts. */
  close(onLateFailure: OnLateFailure): Gathered
}

export interface Gathered {
  readonly writes: readonly CheckedWrite[]
  readonly messages: readonly NewMessage[]
  /** A commit of the handler's own has settled the job already. */
  readonly settled: HandlerRun['settled']
  /** Why the run had to end, whatever the handler made of it. */
  readonly stopped: Error | undefined
  /** Why nothing came of the event: all that it told was known better. */
  readonly stale: string | null
  /** Whether the run asked for effects. */
  readonly hasEffects: boolean
}

/** What handlers work on: the ledger's database, and the outbox in it. */
export interface Business {
  readonly pool: Pool
  readonly shards: number
  readonly outbox: Outbox
}

const INTERRUPTION = Symbol('interruption')

/** One accessor for all contexts: with one each, every context would have a shape of its own. */
const SIGNAL: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly [INTERRUPTION]: Interruption }) {
    return this[INTERRUPTION].signal
  },
}

export function openContext(
  run: Run,
  { pool, shards, outbox }: Business,
  observer: EffectObserver,
): OpenContext {
  const { job, epoch, attempt, subscriber, interruption, lastStep } = run
  const writes: CheckedWrite[] = []
  const calls = new Calls()
  const doing: HandlerRun = {
    pool,
    shards,
    outbox,
    job,
    epoch,
    isFirst: run.isFirst,
    tenant: subscriber.tenant,
    source: subscriber.sourceName,
    observer,
    subscriber: subscriber.name,
    lastStep,
    timeoutMs: subscriber.timeoutMs,
    interruption,
    requireHeld,
    calls,
    isOver: false,
    settled: undefined,
    stopped: undefined,
    news: [],
  }
  // The name is part of the ids of messages, whether or not there are writes beside them.
  const atTheEnd = outgoing(doing, WRITTEN)
  const before = handedOverBefore(lastStep === undefined ? [] : [lastStep])
  let closed = false

  function requireHeld(): void {
    if (interruption.reason) throw interruption.reason
    if (!run.isHeld()) throw new HookonceError('LEASE_LOST', 'this worker was silent for too long')
  }

  function requireOpen(what: string): void {
    if (interruption.reason) throw interruption.reason
    // Before the lease, which may well be gone by now.
    if (closed) throw new HookonceError('CONTEXT_CLOSED', `${what} was called after the handler had returned`)
    requireHeld()
    if (doing.stopped) throw doing.stopped
    if (doing.settled)
      throw new HookonceError('CONTEXT_CLOSED', `${what} was called after the last transaction`)
  }

  /**
   * A last transaction completes the job: what is gathered for the end, or still under way, would
   * be left behind.
   */
  function requireNothingLeft(beside: string | undefined): void {
    if (beside !== undefined) {
      throw new HookonceError(
        'CONTEXT_CLOSED',
        `a last transaction would leave ${beside} behind: await it before`,
      )
    }
    if (writes.length === 0 && atTheEnd.messages.length === 0) return
    throw new HookonceError(
      'CONTEXT_CLOSED',
      'a last transaction would leave behind what ctx.write() and ctx.publish() gathered: use tx.query() and tx.publish()',
    )
  }

  /** Calls to the outside cannot be rolled back, and commits of their own would not be. */
  function requireOutside(what: string): void {
    requireOpen(what)
    refuseInside(doing, what)
  }

  const ctx = {
    attempt,
    [INTERRUPTION]: interruption,
    idempotencyKey: (name) =>
      downstreamKey({ receiptId: job.receiptId, subscriber: subscriber.name, name, epoch }),
    write(...statements) {
      requireOpen('ctx.write()')
      const checked = statements.map(checkWrite)
      // A replay: they were committed with the completion of the earlier run.
      if (!before.writes) writes.push(...checked)
    },
    publish(topic, payload, options) {
      requireOpen('ctx.publish()')
      return atTheEnd.publish(topic, payload, options)
    },
    transaction: <Result>(
      work: Work<Result>,
      options: TransactionOptions & { on?: TransactionAdapter<unknown> } = {},
    ) => {
      const beside = calls.firstOpen
      return calls.make(named('ctx.transaction', options.name), async () => {
        requireOutside('ctx.transaction()')
        if (options.last) requireNothingLeft(beside)
        return transaction(doing, work, options)
      })
    },
    step: (name, work, options = {}) =>
      calls.make(named('ctx.step', name), async () => {
        requireOutside('ctx.step()')
        return step(doing, name, work, options)
      }),
    effect: (key, work, options = {}) =>
      calls.make(named('ctx.effect', key), async () => {
        requireOutside('ctx.effect()')
        return effect(doing, key, work, options)
      }),
    fetch: (url, init) =>
      calls.make(named('ctx.fetch', init.effect), async () => {
        requireOutside('ctx.fetch()')
        return fetchOnce(doing, url, init)
      }),
    latest: (entity, version, work, { name = `latest ${entity}`, ...options } = {}) =>
      calls.make(named('ctx.latest', entity), async () => {
        requireOutside('ctx.latest()')
        const outcome = await transaction(
          doing,
          (tx) => tx.latest(entity, version, (current) => work(tx, current), options),
          { name },
        )
        return remembered(doing, outcome)
      }),
    defer(delayMs, reason) {
      requireOpen('ctx.defer()')
      throw stop(doing, new Deferred(delayMs, reason))
    },
  } satisfies Omit<Context, 'signal'> & { [INTERRUPTION]: Interruption }

  return {
    ctx: Object.defineProperty(ctx, 'signal', SIGNAL) as typeof ctx & Pick<Context, 'signal'>,
    requireAwaited: () => calls.requireAwaited(),
    async rest() {
      doing.isOver = true
      await calls.idle()
    },
    async dropRepeated() {
      if (before.messages) atTheEnd.keep(0)
      if (lastStep === undefined || (writes.length === 0 && atTheEnd.messages.length === 0)) return
      // The job's row tells only of the last completion; those before it may have committed this.
      const earlier = handedOverBefore(await stepNames(pool, { job, epoch }))
      if (earlier.writes) writes.length = 0
      if (earlier.messages) atTheEnd.keep(0)
    },
    close(onLateFailure) {
      closed = true
      calls.close(onLateFailure)
      const { settled, stopped, news } = doing
      const hasEffects = doing.effects !== undefined
      const { messages } = atTheEnd
      return { writes, messages, settled, stopped, stale: staleReason(news), hasEffects }
    },
  }
}

/** A call by the name that the handler gave it. */
function named(call: string, name: string | undefined): string {
  return name === undefined ? `${call}()` : `${call}("${name}")`
}

/** What an earlier attempt recorded counts as this one's news. */
function remembered<Result>({ news }: HandlerRun, outcome: Latest<Result>): Latest<Result> {
  if (!news.includes(outcome)) news.push(outcome)
  return outcome
}
