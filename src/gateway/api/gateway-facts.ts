import { CONCURRENCY } from '../../forward/destination.ts'
import { HANDLER_MS } from '../../model/durations.ts'
import type { CaptureRing } from '../capture/ring.ts'
import type { GatewayConfig } from '../config/config.ts'
import { firstSourceOf } from '../first-event.ts'
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
  /** A command that verifies a stored delivery of this source. Undefined: it is not configured. */
  readonly verifyCommand: (source: string) => string | undefined
  /**
   * A source that a caller of this tenant may see, by its key in the configuration. Undefined:
   * there is none.
   */
  readonly firstSource: (tenant: string | undefined) => string | undefined
  /** The URL where this gateway receives deliveries. Undefined: it does not listen. */
  readonly deliveryUrl: () => string | undefined
  /** Whether each view of a body is recorded in the audit. */
  readonly auditBodies: () => boolean
  /** Prepares a signed sample event for the gateway's own listener. */
  readonly prepareTest: PrepareTest
}

export interface GatewayFactsOptions extends Pick<GatewayFacts, 'captured' | 'firstEvent' | 'deliveryUrl'> {
  /** Makes the command for a source of the configuration. */
  readonly verifyCommand: (source: string) => string
}

/** `config` returns the configuration in force, which a reload may replace. */
export function gatewayFacts(config: () => GatewayConfig, options: GatewayFactsOptions): GatewayFacts {
  return {
    ...options,
    verifyCommand: (source) =>
      Object.hasOwn(config().sources, source) ? options.verifyCommand(source) : undefined,
    firstSource: (tenant) => firstSourceOf(config(), tenant),
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
