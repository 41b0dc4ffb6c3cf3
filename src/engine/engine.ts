import { type Answer, unavailable } from '../delivery/answer.ts'
import type { Ledger, LedgerTables } from '../ledger/ledger.ts'
import type { Ledgers } from '../ledger/ledger-set.ts'
import { HookonceError } from '../model/errors.ts'
import { jsonLogger, logs } from '../observe/logs.ts'
import { meter } from '../observe/metrics.ts'
import { observers } from '../observe/observer.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import { listWorkers } from '../operate/status.ts'
import type { CheckedOptions } from '../options.ts'
import { type NewSubscription, type Subscription, subscription } from '../subscription.ts'
import { startChore } from '../upkeep/chore.ts'
import { countFlush } from '../upkeep/flush-counts.ts'
import { breaker } from '../work/breaker.ts'
import { TimeLimit } from '../work/within.ts'
import { type InlineSources, inlineSources } from './inline-sources.ts'
import { ledgerStatus } from './ledger-status.ts'
import { type OpenStages, openStages } from './open.ts'
import { operatorTables } from './operator-tables.ts'
import { type ProcessShare, workStages } from './work.ts'

/**
 * Every stage over one ledger: receiver, worker, relay and upkeep. The engine decides when they are
 * opened, started, drained and stopped. It shares no state, so a process may hold several engines.
 */
export interface Engine {
  /** Adds a handler. Throws once the ledger is open. */
  subscribe(given: NewSubscription): void
  /** Adds a source whose events are handled inside their requests. */
  inline: InlineSources['add']
  /**
   * Opens the ledger and wires the receiver, once. After a failure the next call tries again. With
   * several ledgers: opens the ledger of the source, or all of them.
   */
  open(source?: string): Promise<OpenStages>
  /**
   * Opens the ledger for a delivery. While the ledger cannot be opened, most deliveries fail
   * without a try.
   */
  openForDelivery(source: string): Promise<OpenStages>
  /** The answer to a delivery for which the ledger could not be opened. */
  answerUnopened(error: unknown): Answer
  /** The ledger of a source. Without one, the home ledger. */
  ledger(source?: string): Promise<Ledger>
  /** Every ledger, for calls from the program itself. */
  ledgers(): Promise<Ledgers>
  /** Every ledger, on the operators' connections. */
  operators(): Promise<Ledgers>
  /** Starts worker, relay and upkeep, once. After a failure the next call tries again. */
  start(): Promise<void>
  /** Makes the worker of this engine look for jobs now. */
  wake(): void
  /** A second call can shorten the time that runs have, and cannot extend it. */
  stop(drainMs: number): Promise<void>
  /** Whether a delivery could be recorded durably now. */
  isReady(): Promise<boolean>
  /** The metrics of this engine; without the backlog while the ledger cannot be read. */
  snapshot(): Promise<MetricsSnapshot>
}

/** The connection of an engine to a process that has several. */
export interface EnginePlace {
  readonly share: ProcessShare
  /** Confirms in the open ledger that the tenants of this engine live there. */
  confirm(ledger: LedgerTables): Promise<void>
}

export function createEngine(options: CheckedOptions, place?: EnginePlace): Engine {
  const { traceContext } = observers(options.observers)
  const counts = meter(traceContext)
  const logging = logs(options.logger ?? jsonLogger(), traceContext)
  const observer = observers([counts.observer, logging, ...options.observers])
  const subscriptions: Subscription[] = []
  const inline = inlineSources({
    open,
    openOrStopping: () => opening ?? openingBreaker.attempt(open),
    options,
    observer,
  })
  const work = workStages(options, observer, place?.share)
  const status = ledgerStatus({ open, options, observer })
  const openingBreaker = breaker(() => true)
  let opening: Promise<OpenStages> | undefined
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined
  const drain = new TimeLimit(Number.POSITIVE_INFINITY)
  let stopFlushing: (() => Promise<void>) | undefined
  let isWatchingForWorker = false

  function open(): Promise<OpenStages> {
    if (stopping) return Promise.reject(new HookonceError('LEDGER_DOWN', 'this process is stopping'))
    const { handOff } = work
    opening ??= openStages({
      options,
      subscriptions,
      inlined: inline.names,
      handOff,
      observer,
      confirm: place?.confirm,
    }).then(startFlushing, (error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  /** Also runs in processes that only receive. */
  function startFlushing(opened: OpenStages): OpenStages {
    const { chore, flush } = countFlush(opened.ledger, {
      snapshot: () => counts.snapshot(undefined),
      tenantOf: (source) => options.sources[source]?.tenant ?? '',
    })
    const running = startChore(chore, observer)
    stopFlushing = async () => {
      await running.stop()
      await flush().catch((error) => observer.trouble({ doing: 'writing the last counts', error }))
    }
    return opened
  }

  async function ledger(): Promise<Ledger> {
    return (await open()).ledger
  }

  function openForDelivery(): Promise<OpenStages> {
    const opened = opening || stopping ? open() : openingBreaker.attempt(open)
    if (!isWatchingForWorker) opened.then(watchForWorker, () => undefined)
    return opened
  }

  /**
   * A process that never calls start() only receives. If no process works on the ledger one lease
   * after the first delivery, start() was probably forgotten. That is reported once.
   */
  function watchForWorker({ ledger }: OpenStages): void {
    if (isWatchingForWorker) return
    isWatchingForWorker = true
    const look = async (): Promise<void> => {
      if (starting || stopping || subscriptions.length === 0) return
      if ((await listWorkers(ledger)).length > 0) return
      observer.warning?.({
        message: 'events are recorded, but no process works on them',
        detail: 'call `await hooks.start()` in this process, or start a worker in another one',
      })
    }
    const report = (error: unknown): void => observer.trouble({ doing: 'looking for a worker', error })
    setTimeout(() => void look().catch(report), options.leaseMs).unref()
  }

  function start(): Promise<void> {
    if (stopping) {
      const fault = 'this hookonce was stopped and cannot start again: create another one'
      return Promise.reject(new HookonceError('CONFIG_INVALID', fault))
    }
    starting ??= open()
      .then(work.start)
      .catch((error) => {
        starting = undefined
        throw error
      })
    return starting
  }

  async function close(): Promise<void> {
    const opened = await opening?.catch(() => undefined)
    if (!opened) return inline.dropReports()
    await starting?.catch(() => undefined)
    await opened.acceptor.idle()
    await work.stop(drain)
    await opened.diagnoses.idle()
    await Promise.all([opened.rejections.stop(), inline.stopReports()])
    // Flushes again: a delivery in progress at the first flush may have been a duplicate, which is
    // counted.
    await opened.acceptor.idle()
    await stopFlushing?.()
    await inline.close()
    await opened.ledger.close()
  }

  return {
    subscribe(given) {
      if (opening) {
        const fault = 'register every handler before the first delivery and before start()'
        throw new HookonceError('CONFIG_INVALID', fault)
      }
      const added = subscription(options, subscriptions, given)
      subscriptions.push(added)
      for (const warning of added.warnings) observer.warning?.(warning)
    },
    inline: inline.add,
    open,
    openForDelivery,
    ledger,
    ledgers: ledger,
    operators: async () => operatorTables(await ledger()),
    answerUnopened(error) {
      if (!(error instanceof HookonceError && error.code === 'LEDGER_DOWN'))
        observer.trouble({ doing: 'opening the ledger for a delivery', error })
      return unavailable(options.limits.retryAfterSeconds)
    },
    start,
    wake: work.wake,
    isReady: status.isReady,
    snapshot: async () => counts.snapshot(stopping ? undefined : await status.backlogs()),
    stop(drainMs) {
      drain.shorten(drainMs)
      stopping ??= close()
      return stopping
    },
  }
}
