import { alertPublishers, isAlertTopic } from '../alerts/channels.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { limitedSubscribers } from '../ledger/read/limiters.ts'
import { DAY_MS } from '../model/durations.ts'
import type { Observer } from '../observe/observer.ts'
import { type CheckedOptions, type OutboxOptions, outboxOf, retryPolicy } from '../options.ts'
import { startWorker, type Worker } from '../process/worker.ts'
import { type OutboxPublishers, outboxPublishers } from '../publish/publishers.ts'
import { type Relay, startRelay } from '../publish/relay.ts'
import type { HandOff } from '../receive/accept.ts'
import { startUpkeep, type Upkeep } from '../upkeep/upkeep.ts'
import { type Isolation, isolation } from '../work/isolation.ts'
import type { Room, SharedRoom } from '../work/room.ts'
import type { TimeLimit } from '../work/within.ts'
import type { OpenStages } from './open.ts'
import { tracedPublishers } from './traced.ts'

/** The stages that only run between start() and stop(): worker, relay and upkeep. */
export interface WorkStages {
  /** The worker as the receiver of the same process uses it, whether or not the worker runs. */
  readonly handOff: HandOff
  /** Starts the stages that do not run yet, so a start that failed halfway can be repeated. */
  start(opened: OpenStages): Promise<void>
  /** Makes the worker look for jobs now. */
  wake(): void
  stop(limit: TimeLimit): Promise<void>
}

/** The time to commit an outcome, added to the longest timeout of a handler or publisher. */
const SETTLING_MS = 5_000
/**
 * A suspect waits at most this long for other work to end, because nothing new starts meanwhile.
 */
const MAX_ISOLATION_MS = 120_000

/** The parts that the engines of one process share. */
export interface ProcessShare {
  /** The slots of all workers. */
  readonly room: SharedRoom
  /** Makes a suspect run while no engine runs anything else. */
  readonly isolation: Isolation
}

export function workStages(
  options: CheckedOptions,
  observer: Observer,
  share: ProcessShare | undefined,
): WorkStages {
  const outbox = outboxOf(options)
  const publishers = outboxPublishers(outbox?.publishers, {
    isReserved: isAlertTopic,
    publishers: options.alerts ? alertPublishers(options.alerts) : {},
  })
  let room: Room | undefined
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
    const { pool, vault, business, writes, shards, listen } = ledger
    room ??= share?.room.join()
    const alone = share?.isolation ?? isolation(isolationMs(outbox, subscribers))
    const shared = { isolation: alone, observer }
    relay ??= await startRelayOf({ options, outbox, publishers, ledger, ...shared })
    worker ??= await startWorker({
      pool,
      vault,
      business,
      writes,
      shards,
      subscribers,
      listen,
      room,
      ...shared,
      ...options,
      outbox: {
        requirePublisher: publishers.require,
        committed: () => relay?.wake(),
        traceContext: observer.traceContext,
      },
    })
    upkeep ??= startUpkeep(ledger, {
      leaseMs: options.leaseMs,
      observer,
      contactMs: () => Math.min(worker?.contactMs ?? 0, relay?.contactMs ?? Number.POSITIVE_INFINITY),
      keepMessagesMs: relay && outbox ? outbox.keepDays * DAY_MS : undefined,
      alerts: options.alerts,
      openCircuits,
    })
  }

  return {
    handOff,
    start,
    wake,
    // Stops the upkeep in parallel: a chore in progress must not delay the drain of the handlers.
    async stop(limit) {
      await Promise.all([upkeep?.stop(), worker?.stop(limit), relay?.stop(limit)])
      room?.leave()
    },
  }
}

interface RelayStart {
  readonly options: CheckedOptions
  readonly outbox: OutboxOptions | undefined
  readonly publishers: OutboxPublishers
  readonly ledger: Ledger
  readonly isolation: Isolation
  readonly observer: Observer
}

/** Undefined: this process publishes no messages. */
async function startRelayOf(given: RelayStart): Promise<Relay | undefined> {
  const { options, outbox, publishers, ledger, isolation, observer } = given
  if (!outbox || publishers.here.length === 0) return undefined
  return startRelay({
    pool: ledger.pool,
    shards: ledger.shards,
    publishers: tracedPublishers(publishers.here, observer),
    concurrency: outbox.concurrency,
    timeoutMs: outbox.timeoutMs,
    retry: retryPolicy(options.retry, outbox.retry),
    leaseMs: options.leaseMs,
    pollMs: options.pollMs,
    isolation,
    observer,
  })
}

/**
 * By this time, work in flight has usually ended and committed its outcome. If not, the suspect
 * runs later.
 */
export function isolationMs(
  outbox: OutboxOptions | undefined,
  subscribers: readonly { readonly timeoutMs: number }[],
): number {
  const timeouts = [...subscribers.map(({ timeoutMs }) => timeoutMs), outbox?.timeoutMs ?? 0]
  return Math.min(Math.max(...timeouts) + SETTLING_MS, MAX_ISOLATION_MS)
}

/** The alerts read the open circuits. */
async function openCircuits(db: Queryable) {
  const limited = await limitedSubscribers(db)
  return limited.filter(({ hasCircuit, state }) => hasCircuit && state !== 'closed')
}
