import { CONCURRENCY, type Destination } from '../forward/destination.ts'
import { forwarder } from '../forward/forward.ts'
import { orderKeyAt } from '../forward/order.ts'
import { type Hookonce, hookonce } from '../hookonce.ts'
import { type Resolve, systemResolver } from '../http/guarded-lookup.ts'
import { HANDLER_MS } from '../model/durations.ts'
import { type CustomObserver, observers } from '../observe/observer.ts'
import { openTelemetry } from '../observe/opentelemetry/index.ts'
import type { Options, Sources, SubscriberOptions } from '../options.ts'
import type { GatewayConfig } from './config/config.ts'
import { routesOf } from './config/routes.ts'

export type GatewayHooksOptions = Omit<
  Options,
  'sources' | 'sourceLimits' | 'trustedProxies' | 'limits' | 'retention' | 'alerts'
>

type HooksConfig = Pick<GatewayConfig, 'sources' | 'destinations'> & Partial<GatewayConfig>

export interface GatewayDeps {
  /** Resolves the host names of destinations. */
  readonly resolve?: Resolve
}

/** Requests in flight in one process, however many destinations there are: each holds a body. */
const MOST_AT_ONCE = 256

/** hookonce for a gateway: every destination subscribes to the sources of its routes. */
export function gatewayHooks(
  config: HooksConfig,
  options: GatewayHooksOptions,
  { resolve = systemResolver() }: GatewayDeps = {},
): Hookonce<Sources> {
  const { sources, sourceLimits = {}, destinations, limits, retention, encryption } = config
  const { alerts = {} } = config
  const { routes = routesOf({ sources: Object.keys(sources), destinations, routes: [] }).routes } = config
  const { maxConnections: _, trustedProxies = [], ...receiverLimits } = limits ?? {}
  const allObservers = [...(options.observers ?? []), ...openTelemetryOf(config)]
  const hooks = hookonce<Sources>({
    concurrency: roomFor(destinations),
    ...options,
    observers: allObservers,
    sources,
    sourceLimits,
    trustedProxies,
    limits: receiverLimits,
    ...(retention ? { retention } : {}),
    ...(encryption ? { encryption } : {}),
    ...(alerts === 'off' ? {} : { alerts }),
  })
  const tracing = observers(allObservers)
  // Errors are stored unencrypted.
  const isEncrypted = (encryption ?? options.encryption) !== undefined
  for (const destination of destinations) {
    const { name } = destination
    const wanted = routes.filter((route) => route.destination === name)
    const handlerFor = forwarder(destination, { resolve, tracing, disable, quotes: !isEncrypted })
    for (const { source: sourceName, types, filter } of wanted) {
      const source = sources[sourceName]
      if (source)
        hooks.on(sourceName, types, handlerFor(source), { ...subscriberOptions(destination), filter })
    }

    /** The destination has a subscriber for each source. */
    async function disable(why: string): Promise<void> {
      for (const { source } of wanted) {
        const isNew = await hooks.pause(source, name, { by: 'hookonce', why })
        if (!isNew) continue
        const detail = `${why}; after a fix: hookonce resume ${source} ${name}`
        const fields = { source, destination: name, detail }
        options.logger?.warn(fields, 'the destination is paused, its jobs wait')
      }
    }
  }
  return hooks
}

/** Does nothing in a process without an SDK of OpenTelemetry. */
function openTelemetryOf({ openTelemetry: options }: HooksConfig): CustomObserver[] {
  return options === 'off' ? [] : [openTelemetry(options)]
}

/**
 * Slots for every destination at its limit, so a destination that hangs takes no slot from others.
 */
function roomFor(destinations: readonly Destination[]): number {
  const all = destinations.reduce((sum, { concurrency = CONCURRENCY }) => sum + concurrency, 0)
  return Math.min(Math.max(all, 1), MOST_AT_ONCE)
}

/** A request ends at its own timeout, whose error is clearer than that of the handler. */
const TIMEOUT_MARGIN_MS = 5_000

function subscriberOptions(destination: Destination): SubscriberOptions {
  const { name, concurrency = CONCURRENCY, circuit = {}, rate } = destination
  const { timeoutMs = HANDLER_MS, retry, orderBy } = destination
  return {
    name,
    // A destination is one app for all sources, so its circuit, rate and concurrency are shared.
    limiter: name,
    concurrency,
    circuit,
    timeoutMs: timeoutMs + TIMEOUT_MARGIN_MS,
    ...(rate === undefined ? {} : { rate }),
    ...(retry === undefined ? {} : { retry }),
    ...(orderBy === undefined ? {} : { ordered: orderKeyAt(orderBy) }),
  }
}
