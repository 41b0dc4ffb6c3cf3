import { type Answer, unavailable } from './delivery/answer.ts'
import type { Diagnoses } from './delivery/diagnoses.ts'
import { responseOf } from './delivery/fetch.ts'
import { respond } from './delivery/node.ts'
import type { Outbox } from './effects/message.ts'
import { type Engine, openEngine } from './engine.ts'
import { type NodeRequest, type NodeResponse, rawRequest, rawResponse } from './http/framework-request.ts'
import { type Inline, type InlineHandler, inlineAs } from './inline/inline.ts'
import { ledgerKeys } from './inline/ledger-keys.ts'
import type { InlineOptions } from './inline/options.ts'
import { inlineReports } from './inline/reports.ts'
import { setPaused } from './ledger/jobs/subscribers.ts'
import { isAnyWorkerAlive } from './ledger/jobs/workers.ts'
import type { Ledger } from './ledger/ledger.ts'
import { backlog } from './ledger/read/jobs.ts'
import { outboxBacklog } from './ledger/read/outbox.ts'
import { DAY_MS } from './model/durations.ts'
import { HookonceError } from './model/errors.ts'
import type { Event } from './model/event.ts'
import { jsonLogger, logs } from './observe/logs.ts'
import { type Backlogs, metrics } from './observe/metrics.ts'
import { observers } from './observe/observer.ts'
import { checkOptions, type Options, retryPolicy, type Sources, type SubscriberOptions } from './options.ts'
import type { Handler, Subscriber } from './process/subscriber.ts'
import { startWorker, type Worker } from './process/worker.ts'
import { outboxPublishers } from './publish/publishers.ts'
import { type Relay, startRelay } from './publish/relay.ts'
import type { HandOff } from './receive/accept.ts'
import { receiveFetch, receiveNode } from './receive/doors.ts'
import { rejectionLog } from './receive/rejections.ts'
import type { Source } from './sources/contract.ts'
import { type Subscription, sourceNamed, subscription } from './subscription.ts'
import {
  type Attention,
  type Decided,
  decideAttention,
  listAttention,
  type Verdict,
} from './upkeep/attention.ts'
import { type Fresh, planReplayFresh, type ReplayedOne, replayOne } from './upkeep/replay.ts'
import type { FreshPlan } from './upkeep/replay-fresh.ts'
import { startUpkeep, type Upkeep } from './upkeep/upkeep.ts'
import { breaker } from './work/breaker.ts'
import { type Isolation, isolation } from './work/isolation.ts'
import { sharedLook } from './work/shared-look.ts'
import { withinMs } from './work/within.ts'

type TypeOf<S> = S extends Source<unknown, unknown, infer Type> ? Type : string
type EventOf<S> =
  S extends Source<infer Payload, infer Subject, infer Type> ? Event<Payload, Subject, Type> : Event

export interface Hookonce<S extends Sources> {
  /**
   * Runs `handler` once for each event of this type (or pattern: `invoice.*`, `*`). Each subscriber
   * has a job of its own on every event: one that fails does not make another run again.
   */
  on<Name extends keyof S & string>(
    source: Name,
    type: TypeOf<S[Name]> | `${string}*${string}`,
    handler: Handler<EventOf<S[Name]>>,
    options?: SubscriberOptionsFor<EventOf<S[Name]>>,
  ): Hookonce<S>
  /**
   * Handles each event of this source once, inside its request, without a worker: for answers that
   * the provider waits for. Its keys are in the ledger's database, unless a key store is given.
   */
  inline<Name extends keyof S & string>(
    source: Name,
    handler: InlineHandler<EventOf<S[Name]>>,
    options?: Omit<InlineOptions, 'store' | 'name'> & Partial<Pick<InlineOptions, 'store'>>,
  ): Inline
  /** Receives one delivery. The source is the last segment of the path unless it is named. */
  fetch(request: Request, options?: { readonly source?: keyof S & string }): Promise<Response>
  /**
   * A listener for node:http, and a handler for Express and Fastify. The source is the last segment
   * of the path unless it is named.
   */
  node(options?: {
    readonly source?: keyof S & string
  }): (request: NodeRequest, response: NodeResponse) => Promise<void>
  /**
   * Starts the worker, and the relay where there are publishers. A process that never calls it only
   * receives.
   */
  start(): Promise<void>
  /**
   * Drains: in-flight work finishes, or is handed back after `drainMs` with its attempt returned.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
  /** Whether a delivery could be recorded durably now. */
  ready(): Promise<boolean>
  /**
   * Metrics in the text format of Prometheus; without the backlog while the ledger cannot be read.
   */
  metrics(): Promise<string>
  pause(source: keyof S & string, subscriber?: string): Promise<void>
  resume(source: keyof S & string, subscriber?: string): Promise<void>
  /**
   * Finished steps, effects and writes are not repeated, unless a person asks for it with `fresh`.
   */
  replay(
    receiptId: string,
    options?: { readonly subscriber?: string; readonly fresh?: Fresh },
  ): Promise<ReplayedOne>
  /** What a fresh replay would do again. */
  planFresh(receiptId: string, options?: { readonly subscriber?: string }): Promise<FreshPlan>
  readonly attention: Attention
  /** Where everything is recorded; opened, and migrated, at the first use. */
  ledger(): Promise<Ledger>
}

/** The types of a source flow to the function that orders its events, too. */
type SubscriberOptionsFor<E extends Event> = Omit<SubscriberOptions, 'ordered'> & {
  readonly ordered?: (event: E) => string
}

/**
 * In-flight work gets this long at a stop. Docker kills after 10 s: what is left is for handing
 * jobs back.
 */
export const DRAIN_MS = 8_000
/** A server that takes longer than this to answer a trivial question is not ready. */
const READY_WITHIN_MS = 2_000
/** On top of a handler's time: its outcome is committed. */
const SETTLING_MS = 5_000
/**
 * A suspect that is to run alone keeps all other work of its process waiting for no longer than
 * this.
 */
const MAX_ISOLATION_MS = 120_000

export function hookonce<const S extends Sources>(given: Options<S>): Hookonce<S> {
  const options = checkOptions(given)
  const meter = metrics()
  const observer = observers([meter.observer, logs(options.logger ?? jsonLogger())])
  const publishers = outboxPublishers(options.outbox?.publishers)
  const subscriptions: Subscription[] = []
  /** Sources that are handled inside their requests. */
  const inlined = new Set<string>()
  let opening: Promise<Engine> | undefined
  let starting: Promise<void> | undefined
  let worker: Worker | undefined
  let relay: Relay | undefined
  let upkeep: Upkeep | undefined
  let stopping: Promise<void> | undefined
  let isWatched = false

  const handOff: HandOff = {
    get worker() {
      return worker?.id
    },
    reserve: (subscriber) => worker?.reserve(subscriber) ?? false,
    release: (subscriber) => worker?.release(subscriber),
    run: (job, id, event) => worker?.runBornLeased(job, id, event),
    wake: () => worker?.wake(),
  }

  /** Opens the ledger once. A failure is not kept: the next call tries again. */
  function engine(): Promise<Engine> {
    if (stopping) return Promise.reject(new HookonceError('LEDGER_DOWN', 'this process is stopping'))
    opening ??= openEngine({ options, subscriptions, inlined, handOff, observer }).catch((error) => {
      opening = undefined
      throw error
    })
    return opening
  }

  /**
   * A process that never calls start() only receives. After the first delivery, and the time of a
   * lease for others to start, some process must work: otherwise start() was forgotten, which is
   * reported once.
   */
  function watchForWorker({ pool }: Ledger): void {
    if (isWatched) return
    isWatched = true
    const look = async (): Promise<void> => {
      if (starting || stopping || subscriptions.length === 0 || (await isAnyWorkerAlive(pool))) return
      observer.warning?.({
        says: 'events are recorded, but no process works on them',
        detail: 'call `await hooks.start()` in this process, or start a worker in another one',
      })
    }
    const report = (error: unknown): void => observer.trouble({ doing: 'looking for a worker', error })
    setTimeout(() => void look().catch(report), options.leaseMs).unref()
  }

  const openingBreaker = breaker(() => true)

  /**
   * Deliveries come as fast as anyone likes: while the ledger cannot be opened, most of them do not
   * try.
   */
  function engineForDelivery(): Promise<Engine> {
    return opening || stopping ? engine() : openingBreaker.attempt(engine)
  }

  function unopened(error: unknown): Answer {
    if (!(error instanceof HookonceError && error.code === 'LEDGER_DOWN'))
      observer.trouble({ doing: 'opening the ledger for a delivery', error })
    return unavailable(options.limits.retryAfterSeconds)
  }

  const keys = ledgerKeys(async () => {
    const { ledger } = await engine()
    return { database: ledger.business, prepare: options.prepare, migrate: options.migrate }
  })

  /** Opens the ledger, where nothing else has, at most once per second. */
  const inlineRejections = rejectionLog(
    { query: async (query) => (await (opening ?? engine())).ledger.pool.query(query) },
    observer,
  )
  const namedSources = Object.entries(options.sources).map(([name, source]) => ({ name, source }))
  const inlineDiagnoses: Diagnoses[] = []

  const ledgerCanRecord = sharedLook(async () => {
    try {
      const { ledger, acceptor } = await engine()
      const result = await ledger.readings.query('select not pg_is_in_recovery() as writable')
      return result.rows[0]?.writable === true && acceptor.waiting < options.limits.maxWaiting
    } catch (error) {
      observer.trouble({ doing: 'checking whether the ledger can record', error })
      return false
    }
  })

  /**
   * Undefined while the ledger cannot be read: the counters of this process are reported all the
   * same.
   */
  const backlogs = sharedLook(async (): Promise<Backlogs | undefined> => {
    try {
      const { readings, shards } = (await engine()).ledger
      // One after the other: the second connection is for readiness.
      const jobs = await backlog(readings, shards)
      return { jobs, outbox: await outboxBacklog(readings, shards) }
    } catch (error) {
      observer.trouble({ doing: 'reading the backlog for metrics', error })
      return undefined
    }
  })

  const self: Hookonce<S> = {
    on(source, type, handler, subscriberOptions = {}) {
      if (opening)
        throw new HookonceError(
          'CONFIG_INVALID',
          'register every handler before the first delivery and before start()',
        )
      // The types of a source flow to its handlers; inside, an event is an event.
      subscriptions.push(
        subscription(options, subscriptions, {
          source,
          pattern: type,
          handler: handler as Handler,
          options: subscriberOptions as SubscriberOptions,
        }),
      )
      return self
    },

    inline(name, handler, inlineOptions = {}) {
      const where = `.inline('${name}')`
      const source = sourceNamed(options, name, where)
      inlined.add(name)
      // With a store of its own, nothing that it does opens the ledger.
      const log = inlineOptions.store ? undefined : inlineRejections
      const reports = inlineReports(namedSources, observer, log)
      inlineDiagnoses.push(reports.diagnoses)
      return inlineAs(where, {
        source,
        handler: handler as InlineHandler,
        options: {
          store: keys,
          observe: (event) =>
            'error' in event && observer.trouble({ doing: `${where}: ${event.what}`, error: event.error }),
          ...inlineOptions,
          name,
        },
        reports,
      })
    },

    async fetch(request, { source } = {}) {
      try {
        const { receiver, ledger } = await engineForDelivery()
        watchForWorker(ledger)
        return await receiveFetch(receiver, source ?? lastSegment(new URL(request.url).pathname), request)
      } catch (error) {
        return responseOf(unopened(error))
      }
    },

    node({ source } = {}) {
      return async (request, response) => {
        try {
          const { receiver, ledger } = await engineForDelivery()
          watchForWorker(ledger)
          await receiveNode(receiver, source ?? lastSegment(rawRequest(request).url ?? ''), request, response)
        } catch (error) {
          respond(rawRequest(request), rawResponse(response), unopened(error))
        }
      }
    },

    start() {
      if (stopping)
        return Promise.reject(
          new HookonceError(
            'CONFIG_INVALID',
            'this hookonce was stopped, and does not start again: make another',
          ),
        )
      // Once, also for two calls at the same time; a start that failed may be tried again.
      starting ??= startWorking().catch((error) => {
        starting = undefined
        throw error
      })
      return starting
    },

    stop({ drainMs = DRAIN_MS } = {}) {
      stopping ??= stopWorking(drainMs)
      return stopping
    },

    async ready() {
      let canRecord = false
      await withinMs(
        ledgerCanRecord().then((can) => {
          canRecord = can
        }),
        READY_WITHIN_MS,
      )
      return canRecord
    },

    async metrics() {
      return meter.render(await backlogs())
    },

    pause: (source, subscriber) => setPause(source, subscriber, true),
    resume: (source, subscriber) => setPause(source, subscriber, false),

    async planFresh(receiptId, { subscriber } = {}) {
      const { ledger } = await engine()
      return planReplayFresh(ledger, receiptId, { subscriber })
    },

    attention: {
      list: async () => listAttention((await engine()).ledger),
      confirmDone: (key, { result, ...decision }) =>
        decideOn({ ...decision, key, verb: 'confirm-done', result }),
      confirmNotDone: (key, decision) => decideOn({ ...decision, key, verb: 'confirm-not-done' }),
      retrySameKey: (key, decision) => decideOn({ ...decision, key, verb: 'retry-same-key' }),
      abandon: (key, decision) => decideOn({ ...decision, key, verb: 'abandon' }),
    },

    async replay(receiptId, { subscriber, fresh } = {}) {
      const { ledger } = await engine()
      const replayed = await replayOne(ledger, receiptId, { subscriber, fresh })
      worker?.wake()
      return replayed
    },

    async ledger() {
      return (await engine()).ledger
    },
  }

  async function decideOn(verdict: Verdict): Promise<Decided> {
    const { ledger } = await engine()
    const decided = await decideAttention(ledger, verdict)
    worker?.wake()
    return decided
  }

  async function startWorking(): Promise<void> {
    const { ledger, subscribers } = await engine()
    const { pool, business, writes, shards, listen } = ledger
    const outbox: Outbox = { requirePublisher: publishers.require, committed: () => relay?.wake() }
    const alone = isolation(isolationMs(subscribers))
    relay ??= await startRelaying(ledger, alone)
    worker ??= await startWorker({
      pool,
      business,
      writes,
      shards,
      subscribers,
      listen,
      isolation: alone,
      observer,
      ...options,
      outbox,
    })
    upkeep = startUpkeep(ledger, {
      leaseMs: options.leaseMs,
      observer,
      contactMs: () => Math.min(worker?.contactMs ?? 0, relay?.contactMs ?? Number.POSITIVE_INFINITY),
      keepMessagesMs: relay && options.outbox ? options.outbox.keepDays * DAY_MS : undefined,
    })
  }

  async function stopWorking(drainMs: number): Promise<void> {
    const opened = await opening?.catch(() => undefined)
    if (!opened) return
    await starting?.catch(() => undefined)
    await opened.acceptor.idle()
    // At the same time: a chore that is under way must not keep handlers from hearing that they
    // have so long.
    await Promise.all([upkeep?.stop(), worker?.stop(drainMs), relay?.stop(drainMs)])
    for (const diagnoses of [opened.diagnoses, ...inlineDiagnoses]) await diagnoses.idle()
    await Promise.all([opened.rejections.stop(), inlineRejections.stop()])
    // Once more: what was under way at the beginning may have been a repeat, which is counted.
    await opened.acceptor.idle()
    await keys.close()
    await opened.ledger.close()
  }

  async function startRelaying({ pool, shards }: Ledger, alone: Isolation): Promise<Relay | undefined> {
    if (!options.outbox || publishers.here.length === 0) return undefined
    const { leaseMs, pollMs } = options
    const { concurrency, timeoutMs } = options.outbox
    const retry = retryPolicy(options.retry, options.outbox.retry)
    return startRelay({
      pool,
      shards,
      publishers: publishers.here,
      concurrency,
      timeoutMs,
      retry,
      leaseMs,
      pollMs,
      isolation: alone,
      observer,
    })
  }

  /**
   * Mostly, everything in flight has ended after this time, its settlement included. Otherwise the
   * suspect comes later.
   */
  function isolationMs(subscribers: readonly Subscriber[]): number {
    const timeouts = [...subscribers.map(({ timeoutMs }) => timeoutMs), options.outbox?.timeoutMs ?? 0]
    return Math.min(Math.max(...timeouts) + SETTLING_MS, MAX_ISOLATION_MS)
  }

  async function setPause(source: string, subscriber: string | undefined, paused: boolean): Promise<void> {
    const { ledger } = await engine()
    const tenant = options.sources[source]?.tenant ?? 'default'
    const found = await setPaused(ledger.pool, { tenant, source, subscriber, paused })
    if (!found)
      throw new HookonceError(
        'CONFIG_INVALID',
        `no subscriber "${subscriber ?? '*'}" of source "${source}" is known`,
      )
    if (!paused) worker?.wake()
  }

  return self
}

function lastSegment(url: string): string {
  const path = (url.split('?', 1)[0] ?? '').replace(/\/+$/, '')
  return decodeSegment(path.slice(path.lastIndexOf('/') + 1))
}

// Source names need no escaping, so what cannot be decoded names none of them.
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
