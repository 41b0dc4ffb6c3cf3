import type { EffectOptions, EffectWork } from '../effects/effect.ts'
import type { FetchOnceInit } from '../effects/fetch-once.ts'
import type { Latest, LatestOptions } from '../effects/latest.ts'
import type { PublishOptions } from '../effects/message.ts'
import type { AdaptedTransaction, Transaction } from '../effects/open-transaction.ts'
import type { Call, StepOptions } from '../effects/step.ts'
import type { AdapterOptions, TransactionOptions } from '../effects/transaction.ts'
import type { Write } from '../effects/write.ts'
import type { Event } from '../model/event.ts'
import type { VersionInput } from '../model/version.ts'
import type { Source } from '../sources/contract.ts'
import type { RetryPolicy } from '../work/retry.ts'

/** What a handler may use besides the event. */
export interface Context {
  /** From 1. A run that was handed back by a draining process is not counted. */
  readonly attempt: number
  /** Aborted when the handler's time is up, the lease is lost, or the process drains. */
  readonly signal: AbortSignal
  /**
   * A stable key to hand to an API that deduplicates: the same on every attempt and replay of this
   * job, another one for each name.
   */
  idempotencyKey(name: string): string
  /**
   * Hands over business writes on the ledger's database, said as statements. They are committed
   * together with the completion of the job when the handler returns, and with those of many other
   * jobs: both or neither happen, and a replay does not repeat them. To throw is to drop them.
   */
  write(...statements: Write[]): void
  /**
   * Hands over a message, which is committed together with the completion of the job when the
   * handler returns, and then carried on by its publisher. To throw is to drop it. Returns its id.
   */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
  /**
   * As below, in a transaction of your own library on the ledger's database: `on` is an adapter of
   * hookonce/adapters/….
   */
  transaction<Result, Native>(
    work: (tx: AdaptedTransaction, native: Native) => PromiseLike<Result>,
    options: AdapterOptions<Native>,
  ): Promise<Result>
  /**
   * Business writes on the ledger's database in a transaction of their own, committed together with
   * the record that this was done. A later attempt or a replay gets the recorded result instead of
   * running it again.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>
  /**
   * A named checkpoint: once the result is recorded, later attempts and replays get it instead of
   * running `work` again. A crash before that runs it again, with the same key.
   */
  step<Result>(
    name: string,
    work: (call: Call) => Result | Promise<Result>,
    options?: StepOptions,
  ): Promise<Result>
  /**
   * Runs once for its business key, within the tenant, whichever event, subscriber or replay asks:
   * the others get the recorded result. `mode` says what is done when a call was started and its
   * reply never recorded.
   */
  effect<Result>(key: string, work: EffectWork<Result>, options?: EffectOptions<Result>): Promise<Result>
  /**
   * An HTTP call that is an effect: with its Idempotency-Key, a time-out, and the reply recorded.
   */
  fetch(url: string | URL, init: FetchOnceInit): Promise<Response>
  /**
   * Business writes that are made only if this version of the entity is newer than the applied one,
   * in one commit with the version. What is older is stale, which is a success.
   */
  latest<Result, Current = unknown>(
    entity: string,
    version: VersionInput | undefined,
    work: (tx: Transaction, current: Current | undefined) => Promise<Result>,
    options?: LatestOptions<Current> & {
      /** Its record's name; a handler that speaks of one entity twice names each. */
      readonly name?: string
    },
  ): Promise<Latest<Result>>
  /**
   * Not yet: ends this run and tries again later. Not a failure, but bounded by the age that a job
   * may reach.
   */
  defer(delayMs: number, reason: string): never
}

export type Handler<E extends Event = Event> = (event: E, ctx: Context) => unknown

/** A handler that wants events of one source, as the worker runs it. */
export interface Subscriber {
  /** Its number in the ledger. */
  readonly id: number
  readonly tenant: string
  readonly sourceName: string
  readonly source: Source
  readonly name: string
  readonly handler: Handler
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  /** The order key of an event, as an id; undefined if the subscriber is not ordered. */
  readonly orderKeyOf?: ((event: Event) => string) | undefined
}
