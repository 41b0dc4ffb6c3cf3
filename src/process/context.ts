import type { Pool } from 'pg'
import type { TransactionAdapter } from '../effects/adapters/contract.ts'
import { Calls, type OnLateFailure } from '../effects/calls.ts'
import { stopAtUnknown } from '../effects/claim-effect.ts'
import { WRITE_STEP } from '../effects/commit-writes.ts'
import { downstreamKey } from '../effects/downstream-key.ts'
import { effect } from '../effects/effect.ts'
import { fetchOnce } from '../effects/fetch-once.ts'
import { type Latest, staleReason } from '../effects/latest.ts'
import { type Outbox, outgoing } from '../effects/message.ts'
import { type HandlerRun, stop } from '../effects/run.ts'
import { step } from '../effects/step.ts'
import { refuseInside, type TransactionOptions, transaction, type Work } from '../effects/transaction.ts'
import { type CheckedWrite, checkWrite } from '../effects/write.ts'
import type { NewMessage } from '../ledger/outbox.ts'
import { HookonceError } from '../model/errors.ts'
import { Deferred } from '../model/handler-errors.ts'
import type { Interruption } from '../work/interruption.ts'
import type { Run } from './attempt.ts'
import type { Context } from './subscriber.ts'

/** The handler's context, and what it gathered. */
export interface OpenContext {
  readonly ctx: Context
  /** Throws where the handler has left something open, or a failure unseen: then it has not done what it says. */
  requireAwaited(): void
  /** Until what the handler began has ended. Cut off in the middle it would be known to nobody. */
  rest(): Promise<void>
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
  /**
   * Of a run that left the outcome of a call open: where the job would be given up, a person is asked instead.
   * Always throws.
   */
  readonly askPerson: (() => Promise<never>) | undefined
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

export function openContext(run: Run, { pool, shards, outbox }: Business): OpenContext {
  const { job, epoch, attempt, subscriber, interruption, lastStep } = run
  const writes: CheckedWrite[] = []
  const calls = new Calls()
  const doing: HandlerRun = {
    pool,
    shards,
    outbox,
    job,
    epoch,
    tenant: subscriber.tenant,
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
  const atTheEnd = outgoing(doing, WRITE_STEP)
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

  /** A last transaction completes the job: what is gathered for the end, or still under way, would be left behind. */
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
      if (lastStep !== WRITE_STEP) writes.push(...checked)
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
    close(onLateFailure) {
      closed = true
      calls.close(onLateFailure)
      const { settled, stopped, news } = doing
      const [open] = doing.open?.values() ?? []
      const reason = 'it was called, no reply was recorded, and its job has no attempts left'
      const askPerson = open && (() => stopAtUnknown(doing, { ...open, reason }))
      // A replay: they were committed with the completion of the earlier run, as the writes.
      const messages = lastStep === WRITE_STEP ? [] : atTheEnd.messages
      return { writes, messages, settled, stopped, stale: staleReason(news), askPerson }
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
