import { engineDoors } from './engine/doors.ts'
import type { InlineSourceOptions } from './engine/inline-sources.ts'
import { engineSeat, seatOf, setSeat } from './engine/seat.ts'
import type { Inline, InlineHandler } from './inline/inline.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Ledgers } from './ledger/ledger-set.ts'
import { HookonceError } from './model/errors.ts'
import type { Event } from './model/event.ts'
import { sourceNameOf } from './model/source-key.ts'
import type { MountOptions, Mounts, NodeHandler } from './mounts/contract.ts'
import { mounts, nodeHandlers } from './mounts/mounts.ts'
import { openMetricsText } from './observe/open-metrics.ts'
import { prometheusText } from './observe/prometheus.ts'
import type { MetricsSnapshot } from './observe/snapshot.ts'
import {
  type Attention,
  type Decided,
  decideAttention,
  type EffectDecision,
  listAttention,
} from './operate/attention.ts'
import type { DecisionReason } from './operate/audit.ts'
import type { FreshPlan } from './operate/fresh-replay.ts'
import { type PauseTarget, pause, resume } from './operate/pause.ts'
import { type ReconcileReport, reconcile } from './operate/reconcile.ts'
import { planReplayFresh, type ReplayedOne, replayOne } from './operate/replay.ts'
import { checkOptions, type Options, type Sources, type SubscriberOptions } from './options.ts'
import type { Handler } from './process/subscriber.ts'
import type { ReconcileOptions } from './reconcile/options.ts'
import type { EventOf, TypePattern } from './sources/typed-events.ts'

/** Besides these members, it has one method per framework that mounts the receiver. */
export interface Hookonce<S extends Sources> extends Mounts<keyof S & string> {
  /**
   * Runs `handler` once for each event of this type, of one of several types, or of a pattern
   * (`invoice.*`, `*`). Each subscriber has its own job on every event: if one fails, only that one
   * is retried.
   */
  on<Name extends keyof S & string, const Type extends TypePattern<S[Name]>>(
    source: Name,
    type: Type | readonly Type[],
    handler: Handler<EventOf<S[Name], Type>>,
    options?: SubscriberOptionsFor<EventOf<S[Name], Type>>,
  ): Hookonce<S>
  /**
   * Handles each event of this source once, inside its request, without a worker: for providers
   * that wait for the answer. Keys are kept in the ledger's database, unless a key store is given.
   */
  inline<Name extends keyof S & string>(
    source: Name,
    handler: InlineHandler<EventOf<S[Name]>>,
    options?: InlineSourceOptions,
  ): Inline
  /**
   * Receives one delivery. Without `source`, the last segment of the path names the source. It needs
   * no `this`: `export default { fetch: hooks.fetch }`.
   */
  fetch(request: Request, options?: MountOptions<keyof S & string>): Promise<Response>
  /** A listener for node:http. Without `source`, the last segment of the path names the source. */
  node(options?: MountOptions<keyof S & string>): NodeHandler
  /**
   * Starts the worker, the upkeep, and the relay if there are publishers. A process that never
   * calls it only receives.
   */
  start(): Promise<void>
  /**
   * Drains: in-flight work finishes within `drainMs`. The rest is handed back, and its attempt does
   * not count. A second call can shorten the time.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
  /** Whether a delivery could be recorded durably now. */
  ready(): Promise<boolean>
  readonly metrics: Metrics
  /**
   * Holds the jobs of a source or of one subscriber; deliveries are still recorded. With a reason,
   * the audit records it. Returns false if it was already paused.
   */
  pause(source: keyof S & string, subscriber?: string, reason?: DecisionReason): Promise<boolean>
  /** Returns false if it was not paused. */
  resume(source: keyof S & string, subscriber?: string, reason?: DecisionReason): Promise<boolean>
  /**
   * Runs finished jobs of an event again. Their steps, effects and writes are not repeated, except
   * with `fresh`.
   */
  replay(
    receiptId: string,
    options?: { readonly subscriber?: string; readonly fresh?: DecisionReason },
  ): Promise<ReplayedOne>
  /**
   * Reads the provider's own list of events, and records those that never arrived. For Stripe,
   * GitHub and Shopify. A failure of the API ends the run; `stopped` in the report contains the
   * reason.
   */
  reconcile(source: keyof S & string, options: ReconcileOptions): Promise<ReconcileReport>
  /** Lists what a replay with `fresh` would do again. */
  planFresh(receiptId: string, options?: { readonly subscriber?: string }): Promise<FreshPlan>
  readonly attention: Attention
  /**
   * The ledger that records everything. It is opened and migrated at the first use. With several
   * ledgers: the ledger of the source, or the home ledger.
   */
  ledger(source?: keyof S & string): Promise<Ledger>
}

export interface Metrics {
  /**
   * Metrics in the text format of Prometheus. While the ledger is down, the gauges of its backlog
   * are missing.
   */
  (): Promise<string>
  /** Metrics in the format OpenMetrics, which has exemplars: traces of single measurements. */
  openMetrics(): Promise<string>
  /** Metrics as plain data, for other formats. */
  snapshot(): Promise<MetricsSnapshot>
}

/** `ordered` and `filter` get events with the types of their source. */
type SubscriberOptionsFor<E extends Event> = Omit<SubscriberOptions, 'ordered' | 'filter'> & {
  readonly ordered?: ((event: E) => string) | undefined
  readonly filter?: ((event: E) => boolean) | undefined
}

/**
 * The default drain time of a stop. Docker kills after 10 s: the remaining time is for handing jobs
 * back.
 */
export const DRAIN_MS = 8_000

export function hookonce<const S extends Sources>(given: Options<S>): Hookonce<S> {
  const options = checkOptions(given)
  const seat = engineSeat(options)
  const doors = engineDoors(seat)

  const self: Hookonce<S> = {
    // Handlers get the event type of their source; the engine itself uses Event.
    on(source, type, handler, subscriberOptions = {}) {
      seat.subscribe({
        source,
        pattern: type,
        handler: handler as Handler,
        options: subscriberOptions as SubscriberOptions,
      })
      return self
    },
    inline: (source, handler, inlineOptions = {}) =>
      seat.inline(source, handler as InlineHandler, inlineOptions),

    ...mounts(doors),
    node: nodeHandlers(doors),
    // Platforms pass further arguments: Cloudflare passes its bindings, which may have any name.
    fetch(request, given) {
      const source = given?.source
      return doors.fetch(request, source && Object.hasOwn(options.sources, source) ? { source } : {})
    },

    start: () => seat.engine.start(),
    stop: ({ drainMs = DRAIN_MS } = {}) => seat.engine.stop(drainMs),
    ready: () => seat.engine.isReady(),
    metrics: Object.assign(async () => prometheusText(await seat.engine.snapshot()), {
      openMetrics: async () => openMetricsText(await seat.engine.snapshot()),
      snapshot: () => seat.engine.snapshot(),
    }),

    pause: async (source, subscriber, reason) =>
      pause(await seat.engine.ledger(source), targetOf(source, subscriber), reason),
    async resume(source, subscriber, reason) {
      const ledger = await seat.engine.ledger(source)
      const { wasPaused, probes } = await resume(ledger, targetOf(source, subscriber), reason)
      if (wasPaused || probes > 0) seat.engine.wake()
      return wasPaused
    },

    async replay(receiptId, { subscriber, fresh } = {}) {
      const replayed = await replayOne(await seat.engine.ledgers(), receiptId, { subscriber, fresh })
      seat.engine.wake()
      return replayed
    },
    async reconcile(source, reconcileOptions) {
      const { ledger, listed } = await seat.engine.open(source)
      const entry = listed(source)
      if (!entry) {
        const fault = `no source "${source}" records its events (inline sources do not)`
        throw new HookonceError('CONFIG_INVALID', `reconcile: ${fault}`)
      }
      return reconcile(ledger, entry, reconcileOptions)
    },
    async planFresh(receiptId, { subscriber } = {}) {
      return planReplayFresh(await seat.engine.ledgers(), receiptId, { subscriber })
    },

    attention: {
      list: async () => listAttention(await seat.engine.ledgers()),
      confirmDone: (key, { result, ...decision }) =>
        decideOn({ ...decision, key, verb: 'confirm-done', result }),
      confirmNotDone: (key, decision) => decideOn({ ...decision, key, verb: 'confirm-not-done' }),
      retrySameKey: (key, decision) => decideOn({ ...decision, key, verb: 'retry-same-key' }),
      abandon: (key, decision) => decideOn({ ...decision, key, verb: 'abandon' }),
    },

    ledger: (source) => seat.engine.ledger(source),
  }

  async function decideOn(decision: EffectDecision): Promise<Decided> {
    const decided = await decideAttention(await seat.engine.ledgers(), decision)
    seat.engine.wake()
    return decided
  }

  function targetOf(source: string, subscriber: string | undefined): PauseTarget {
    const tenant = options.sources[source]?.tenant ?? 'default'
    return { tenant, source: sourceNameOf(source), subscriber }
  }

  setSeat(self, seat)
  return self
}

/** Every ledger of an instance, on the operators' connections. For the admin API. */
export function operatorsOf(hooks: object): Promise<Ledgers> {
  const seat = seatOf(hooks)
  if (!seat) throw new Error('expected the return value of hookonce(), from the same copy of the package')
  return seat.engine.operators()
}
