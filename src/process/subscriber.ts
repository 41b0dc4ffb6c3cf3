import type { EffectOptions, EffectWork } from '../effects/effect.ts'
import type { FetchOnceInit } from '../effects/fetch-once.ts'
import type { Latest, LatestOptions } from '../effects/latest.ts'
import type { PublishOptions } from '../effects/message.ts'
import type { AdaptedTransaction, Transaction } from '../effects/open-transaction.ts'
import type { Call, StepOptions } from '../effects/step.ts'
import type { AdapterOptions, TransactionOptions } from '../effects/transaction.ts'
import type { Write } from '../effects/write.ts'
import type { RateOptions } from '../input/limiter-options.ts'
import type { Event } from '../model/event.ts'
import type { VersionInput } from '../model/version.ts'
import type { Source } from '../sources/contract.ts'
import type { RetryPolicy } from '../work/retry.ts'
import type { Circuit } from './circuit.ts'

/** The second argument of a handler. */
export interface Context {
  /**
   * The number of this attempt, from 1. A run that a draining process handed back does not count.
   */
  readonly attempt: number
  /** Aborted at the handler's timeout, when the lease is lost, or when the process drains. */
  readonly signal: AbortSignal
  /**
   * A stable key for an API that deduplicates. Every attempt and replay of this job gets the same
   * key for the same name.
   */
  idempotencyKey(name: string): string
  /**
   * Hands over business writes on the ledger's database, as statements. They are committed with the
   * completion of the job when the handler returns, in one transaction with many other jobs: both
   * or neither happen, and a replay does not repeat them. If the handler throws, they are dropped.
   */
  write(...statements: Write[]): void
  /**
   * Hands over a message. It is committed with the completion of the job when the handler returns,
   * and then published. If the handler throws, it is dropped. Returns its id.
   */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
  /**
   * Like the next overload, in a transaction of your own library on the ledger's database: `on` is
   * an adapter from hookonce/adapters/….
   */
  transaction<Result, Native>(
    work: (tx: AdaptedTransaction, native: Native) => PromiseLike<Result>,
    options: AdapterOptions<Native>,
  ): Promise<Result>
  /**
   * Runs business writes in a transaction on the ledger's database, committed together with a
   * record of the result. A later attempt or a replay returns the recorded result and does not run
   * `work` again.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>
  /**
   * A named checkpoint. Once its result is recorded, later attempts and replays return the result
   * and do not run `work` again. After a crash before the record, `work` runs again with the same
   * key.
   */
  step<Result>(
    name: string,
    work: (call: Call) => Result | Promise<Result>,
    options?: StepOptions,
  ): Promise<Result>
  /**
   * Runs once per business key and tenant, whichever event, subscriber or replay requests it. Later
   * requests return the recorded result. `mode` decides what happens if a call was started and its
   * reply was never recorded.
   */
  effect<Result>(key: string, work: EffectWork<Result>, options?: EffectOptions<Result>): Promise<Result>
  /** An HTTP call as an effect, with an Idempotency-Key and a timeout. Its reply is recorded. */
  fetch(url: string | URL, init: FetchOnceInit): Promise<Response>
  /**
   * Business writes that happen only if this version of the entity is newer than the applied one,
   * in one commit with the version. An older version is stale, which counts as success.
   */
  latest<Result, Current = unknown>(
    entity: string,
    version: VersionInput | undefined,
    work: (tx: Transaction, current: Current | undefined) => Promise<Result>,
    options?: LatestOptions<Current> & {
      /** The name of the record. Required if a handler calls ctx.latest twice for one entity. */
      readonly name?: string
    },
  ): Promise<Latest<Result>>
  /** Ends this run and retries later. Not a failure, but bounded by the maximum age of a job. */
  defer(delayMs: number, reason: string): never
}

export type Handler<E extends Event = Event> = (event: E, ctx: Context) => unknown

/** Limits the runs of one subscriber, or of several with the same limiter. */
export interface Limiter {
  /** The id of the limiter in the ledger. */
  readonly id: number
  readonly name: string
  readonly circuit: Circuit | undefined
  readonly rate: RateOptions | undefined
}

/**
 * The name under which subscribers share their slots: the same for subscribers with the same
 * limiter.
 */
export interface SlotGroup {
  readonly concurrency: number
}

/** A handler for events of one source, as the worker runs it. */
export interface Subscriber {
  /** The id of the subscriber in the ledger. */
  readonly id: number
  readonly tenant: string
  /** The key of its source: `name`, or `tenant/name`. */
  readonly sourceName: string
  readonly source: Source
  readonly name: string
  readonly handler: Handler
  readonly slotGroup: SlotGroup
  /** Undefined: the subscriber has neither a circuit nor a rate. */
  readonly limiter: Limiter | undefined
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  /** Returns the order key of an event, as an id. Undefined if the subscriber is not ordered. */
  readonly orderKeyOf?: ((event: Event) => string) | undefined
}
