import type { Ledger } from '../ledger/ledger.ts'
import { DAY_MS } from '../model/durations.ts'
import type { Observer } from '../observe/observer.ts'
import { type CheckedOptions, retryPolicy } from '../options.ts'
import type { Subscriber } from '../process/subscriber.ts'
import { startWorker, type Worker } from '../process/worker.ts'
import { type OutboxPublishers, outboxPublishers } from '../publish/publishers.ts'
import { type Relay, startRelay } from '../publish/relay.ts'
import type { HandOff } from '../receive/accept.ts'
import { startUpkeep, type Upkeep } from '../upkeep/upkeep.ts'
import { type Isolation, isolation } from '../work/isolation.ts'
import type { OpenStages } from './open.ts'
import { tracedPublishers } from './traced.ts'

/** The stages that only run between start() and stop(): worker, relay and upkeep. */
export interface WorkStages {
  /** The worker as the receiver of the same process sees it, whether or not it runs. */
  readonly handOff: HandOff
  /** Starts what does not run yet, so that a start that failed halfway can be repeated. */
  start(opened: OpenStages): Promise<void>
  /** Makes the worker look for jobs now. */
  wake(): void
  stop(drainMs: number): Promise<void>
}

/** Added to the longest timeout of a handler or publisher: the time to commit its outcome. */
const SETTLING_MS = 5_000
/** A suspect waits at most this long for other work to end: nothing new starts meanwhile. */
const MAX_ISOLATION_MS = 120_000

export function workStages(options: CheckedOptions, observer: Observer): WorkStages {
  const publishers = outboxPublishers(options.outbox?.publishers)
  let worker: Worker | undefined
  let relay: Relay | undefined
  let upkeep: Upkeep | undefined

  const handOff: HandOff = {
    get worker() {
      return worker?.id
    },
    reserve: (subscriber) => worker?.reserve(subscriber) ?? false,
    release: (subscriber) => worker?.release(subscriber),
    run: (job, id, event) => worker?.runBornLeased(job, id, event),
    wake,
  }

  function wake(): void {
    worker?.wake()
  }

  async function start({ ledger, subscribers }: OpenStages): Promise<void> {
    const { pool, business, writes, shards, listen } = ledger
    const shared = { isolation: isolation(isolationMs(options, subscribers)), observer }
    relay ??= await startRelayOf({ options, publishers, ledger, ...shared })
    worker ??= await startWorker({
      pool,
      business,
      writes,
      shards,
      subscribers,
      listen,
      ...shared,
      ...options,
      outbox: {
        requirePublisher: publishers.require,
        committed: () => relay?.wake(),
        traceparent: observer.traceparent,
      },
    })
    upkeep ??= startUpkeep(ledger, {
      leaseMs: options.leaseMs,
      observer,
      contactMs: () => Math.min(worker?.contactMs ?? 0, relay?.contactMs ?? Number.POSITIVE_INFINITY),
      keepMessagesMs: relay && options.outbox ? options.outbox.keepDays * DAY_MS : undefined,
    })
  }

  return {
    handOff,
    start,
    wake,
    // At the same time: a chore in progress must not delay the drain of the handlers.
    async stop(drainMs) {
      await Promise.all([upkeep?.stop(), worker?.stop(drainMs), relay?.stop(drainMs)])
    },
  }
}

interface RelayStart {
  readonly options: CheckedOptions
  readonly publishers: OutboxPublishers
  readonly ledger: Ledger
  readonly isolation: Isolation
  readonly observer: Observer
}

/** Undefined: this process publishes no messages. */
async function startRelayOf(given: RelayStart): Promise<Relay | undefined> {
  const { options, publishers, ledger, isolation, observer } = given
  if (!options.outbox || publishers.here.length === 0) return undefined
  return startRelay({
    pool: ledger.pool,
    shards: ledger.shards,
    publishers: tracedPublishers(publishers.here, observer.inSpan),
    concurrency: options.outbox.concurrency,
    timeoutMs: options.outbox.timeoutMs,
    retry: retryPolicy(options.retry, options.outbox.retry),
    leaseMs: options.leaseMs,
    pollMs: options.pollMs,
    isolation,
    observer,
  })
}

/**
 * By then, work in flight has usually ended and its outcome is committed. Otherwise the suspect
 * runs later.
 */
function isolationMs({ outbox }: CheckedOptions, subscribers: readonly Subscriber[]): number {
  const timeouts = [...subscribers.map(({ timeoutMs }) => timeoutMs), outbox?.timeoutMs ?? 0]
  return Math.min(Math.max(...timeouts) + SETTLING_MS, MAX_ISOLATION_MS)
}
