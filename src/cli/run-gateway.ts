import { adminAccess } from '../gateway/access.ts'
import { type AdminOptions, startAdmin } from '../gateway/admin-server.ts'
import type { ConfiguredAdmin } from '../gateway/config.ts'
import { health } from '../gateway/health.ts'
import type { Listener } from '../gateway/listener.ts'
import { startGateway } from '../gateway/server.ts'
import { DRAIN_MS, type Hookonce } from '../hookonce.ts'
import type { Sources } from '../options.ts'
import { type Command, parseDuration, parsePort, usageError } from './command.ts'

/* What `dev` and `serve` share: their options, their listeners, and the stop on a signal. */

/** Options of every command that runs a gateway. */
export const gatewayOptions = {
  port: { type: 'string', default: '4400' },
  'admin-host': { type: 'string' },
  'admin-port': { type: 'string' },
  drain: { type: 'string', default: `${DRAIN_MS / 1_000}s` },
} as const

interface GatewayValues {
  readonly port: string
  readonly 'admin-host'?: string | undefined
  readonly 'admin-port'?: string | undefined
  readonly drain: string
}

/** Where the admin listener is, and its token. */
export type AdminPlace = Pick<AdminOptions, 'host' | 'port' | 'token'>

export interface GatewaySettings {
  readonly port: number
  readonly drainMs: number
  /** Options of the command line override the configuration. */
  adminPlace(configured: ConfiguredAdmin | undefined, env: NodeJS.ProcessEnv): AdminPlace
}

const ADMIN_HOST = '127.0.0.1'
const ADMIN_PORT = 4401
/** No handler should run longer: a larger value is more likely a wrong unit. */
const MAX_DRAIN_MS = 3_600_000

export function parseGatewayOptions(command: Pick<Command, 'usage'>, values: GatewayValues): GatewaySettings {
  const port = parsePort(command, values.port)
  const drainMs = parseDuration(command, values.drain)
  if (drainMs > MAX_DRAIN_MS) throw usageError(command, `--drain must be 1h at most, not "${values.drain}"`)
  const { 'admin-host': host, 'admin-port': portText } = values
  const adminPort = portText === undefined ? undefined : parsePort(command, portText, '--admin-port')
  return {
    port,
    drainMs,
    adminPlace(configured = {}, env) {
      const place = {
        host: host ?? configured.host ?? ADMIN_HOST,
        // With --port 0 several gateways run on this machine: the admin port is any free one too.
        port: adminPort ?? configured.port ?? (port === 0 ? 0 : ADMIN_PORT),
        token: configured.token ?? (env.HOOKONCE_ADMIN_TOKEN || undefined),
      }
      // Rejects an unsafe place before anything is started.
      adminAccess(place)
      return place
    },
  }
}

export interface ListenerOptions {
  readonly hooks: Hookonce<Sources>
  readonly host: string
  readonly port: number
  readonly receives: boolean
  /** Undefined: another process has the admin listener. */
  readonly admin: AdminPlace | undefined
}

export interface Listeners {
  readonly delivery: Listener
  readonly admin: Listener | undefined
}

/** Opens both listeners. If one fails, it stops hookonce and closes the other. */
export async function openListeners({ hooks, admin, ...delivery }: ListenerOptions): Promise<Listeners> {
  const checks = health(hooks.ready)
  let deliveryListener: Listener | undefined
  try {
    deliveryListener = await startGateway({ ...delivery, hooks, health: checks })
    const adminListener = admin && (await startAdmin({ ...admin, health: checks, metrics: hooks.metrics }))
    return { delivery: deliveryListener, admin: adminListener }
  } catch (error) {
    await deliveryListener?.close(0)
    await hooks.stop()
    throw error
  }
}

export async function closeListeners({ delivery, admin }: Listeners): Promise<void> {
  await Promise.all([delivery.close(0), admin?.close(0)])
}

/** The admin listener serves until the drain is over. Then its requests have this long. */
const ADMIN_CLOSE_MS = 200

/** Waits for SIGINT or SIGTERM, then drains. A second signal exits at once. */
export async function runUntilSignal(
  hooks: Hookonce<Sources>,
  { delivery, admin }: Listeners,
  drainMs: number,
): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        resolve()
        process.once(signal, () => process.exit(1))
      })
    }
  })
  const end = performance.now() + drainMs
  // A stalled sender must not use up the handlers' time: the provider retries.
  await delivery.close(drainMs / 2)
  await hooks.stop({ drainMs: Math.max(0, end - performance.now()) })
  await admin?.close(ADMIN_CLOSE_MS)
}
