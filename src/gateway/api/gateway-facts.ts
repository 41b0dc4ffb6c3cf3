import { CONCURRENCY } from '../../forward/destination.ts'
import { HANDLER_MS } from '../../model/durations.ts'
import type { CaptureRing } from '../capture/ring.ts'
import type { GatewayConfig } from '../config/config.ts'
import { type PrepareTest, testEvents } from '../test-event.ts'

/** A destination of the gateway's configuration, without its secret. */
export interface DestinationFacts {
  readonly name: string
  /** Without user, password and query, which may be secrets. */
  readonly url: string
  /** The event types that the destination gets, by source. */
  readonly routes: readonly DestinationRoute[]
  readonly concurrency: number
  readonly timeoutMs: number
}

interface DestinationRoute {
  /** The key of the source in the configuration. */
  readonly source: string
  readonly tenant: string
  readonly types: readonly string[]
}

/** The facts about the gateway that the API needs, besides the ledger. */
export interface GatewayFacts {
  readonly destinations: () => readonly DestinationFacts[]
  /** Requests to sources that are not configured. Undefined: they are not kept. */
  readonly captured?: Pick<CaptureRing, 'list' | 'find'> | undefined
  /**
   * A command that sends a signed event, to a source that a caller of this tenant may see.
   * Undefined: there is no such source, or the gateway does not listen.
   */
  readonly firstEvent: (tenant: string | undefined) => string | undefined
  /** The URL where this gateway receives deliveries. Undefined: it does not listen. */
  readonly deliveryUrl: () => string | undefined
  /** Whether each view of a body is recorded in the audit. */
  readonly auditBodies: () => boolean
  /** Prepares a signed sample event for the gateway's own listener. */
  readonly prepareTest: PrepareTest
}

export type GatewayFactsOptions = Pick<GatewayFacts, 'captured' | 'firstEvent' | 'deliveryUrl'>

/** `config` returns the configuration in force, which a reload may replace. */
export function gatewayFacts(config: () => GatewayConfig, options: GatewayFactsOptions): GatewayFacts {
  return {
    ...options,
    prepareTest: testEvents(config, options.deliveryUrl),
    // A function, because a reload may change the value.
    auditBodies: () => config().admin?.auditBodies !== 'off',
    destinations() {
      const { destinations, routes, sources } = config()
      return destinations.map(({ name, url, concurrency = CONCURRENCY, timeoutMs = HANDLER_MS }) => ({
        name,
        url: withoutSecrets(url),
        routes: routes
          .filter(({ destination }) => destination === name)
          .map(({ source, types }) => ({ source, types, tenant: sources[source]?.tenant ?? 'default' })),
        concurrency,
        timeoutMs,
      }))
    },
  }
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
