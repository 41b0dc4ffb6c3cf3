import type { Destination } from '../forward/destination.ts'
import type { GatewayConfig } from '../gateway/config/config.ts'
import { routesOf } from '../gateway/config/routes.ts'
import { type GatewayHooksOptions, gatewayHooks } from '../gateway/hooks.ts'
import type { Hookonce } from '../hookonce.ts'
import type { Sources } from '../options.ts'
import type { SigningSource } from '../sources/sign.ts'
import type { EnvironmentSources } from './environment-sources.ts'
import { localSecret } from './local-secret.ts'

/* Makes the configuration of `hookonce dev`: the file, and the additions of `dev`. */

/** Used without a configuration file. */
export const EMPTY: GatewayConfig = {
  sources: {},
  sourceLimits: {},
  destinations: [],
  routing: { destinations: [], routes: [] },
  routes: [],
}

/**
 * The subscriber of `dev` has the same name with and without --forward-to. With two names, a replay
 * would run the jobs of both.
 */
export const SUBSCRIBER = 'dev'
/** The file with the secret of --forward-to. */
export const FORWARD_SECRET = 'forward-secret'

interface DevInput {
  /** The configuration file, parsed and checked. */
  readonly configured: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly forwardTo: string | undefined
  readonly dir: string
}

/** The sources of the file, of the environment, and `demo`; and --forward-to as a destination. */
export function devConfig({ configured, demo, found, forwardTo, dir }: DevInput): GatewayConfig {
  const opened = Object.fromEntries(found.opened.map(({ name, source }) => [name, source]))
  const sources = { demo, ...opened, ...configured.sources }
  const names = Object.keys(sources)
  const forward =
    forwardTo === undefined
      ? []
      : [
          {
            name: SUBSCRIBER,
            url: forwardTo,
            types: '*',
            secret: localSecret(dir, FORWARD_SECRET),
            // The developer chose this host on the command line, so it may be private.
            allowPrivate: [new URL(forwardTo).hostname.replace(/^\[(.*)\]$/, '$1')],
          },
        ]
  const forwarded = forward.flatMap(({ name }) =>
    names.map((source) => ({ source, destination: name, types: ['*'] })),
  )
  // A destination of the file that gets all events also gets the events of the added sources.
  const { routes } = routesOf({ ...configured.routing, sources: names })
  return {
    ...configured,
    sources,
    destinations: [...configured.destinations.map(withLoopback), ...forward],
    routes: [...routes, ...forwarded],
  }
}

/** Allows loopback addresses: in development, the app runs on the same machine. */
function withLoopback(destination: Destination): Destination {
  return { ...destination, allowPrivate: [...(destination.allowPrivate ?? []), '127.0.0.0/8', '::1'] }
}

/**
 * Sources without a destination get a subscriber that does nothing, so that their events are
 * recorded.
 */
export function devHooks(config: GatewayConfig, options: GatewayHooksOptions): Hookonce<Sources> {
  const hooks = gatewayHooks(config, options)
  const routed = new Set(config.routes.map(({ source }) => source))
  for (const source of Object.keys(config.sources))
    if (!routed.has(source)) hooks.on(source, '*', () => undefined, { name: SUBSCRIBER })
  return hooks
}
