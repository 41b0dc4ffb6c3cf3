import { adminAccess } from '../gateway/access.ts'
import { type AdminOptions, startAdmin } from '../gateway/admin-server.ts'
import type { ConfiguredAdmin } from '../gateway/config.ts'
import { health } from '../gateway/health.ts'
import type { Listener } from '../gateway/listener.ts'
import { startGateway } from '../gateway/server.ts'
import { DRAIN_MS, type Hookonce } from '../hookonce.ts'
import type { Sources } from '../options.ts'
import { type Command, durationOf, portOf, usageError } from './command.ts'

/*
 * What `dev` and `serve` have in common: their listeners, and how they run until they are told to
 * stop.
 */

/** Options of every command that runs a gateway. */
export const runningOptions = {
  port: { type: 'string', default: '4400' },
  'admin-host': { type: 'string' },
  'admin-port': { type: 'string' },
  drain: { type: 'string', default: `${DRAIN_MS / 1_000}s` },
} as const

interface RunningValues {
  readonly port: string
  readonly 'admin-host'?: string | undefined
  readonly 'admin-port'?: string | undefined
  readonly drain: string
}

export type AdminPlace = Pick<AdminOptions, 'host' | 'port' | 'token'>

export interface Running {
  readonly port: number
  readonly drainMs: number
  /** The admin listener. Options of the command line go before the configuration. */
  adminBy(configured: ConfiguredAdmin | undefined, env: NodeJS.ProcessEnv): AdminPlace
}

const ADMIN_HOST = '127.0.0.1'
const ADMIN_PORT = 4401
/** Longer than any handler should run: a unit was mistaken sooner than this is meant. */
const MAX_DRAIN_MS = 3_600_000

export function runningOf(command: Pick<Command, 'usage'>, values: RunningValues): Running {
  const port = portOf(command, values.port)
  const drainMs = durationOf(command, values.drain)
  if (drainMs > MAX_DRAIN_MS) throw usageError(command, `--drain must be 1h at most, not "${values.drain}"`)
  const { 'admin-host': host, 'admin-port': portText } = values
  const adminPort = portText === undefined ? undefined : portOf(command, portText, '--admin-port')
  return {
    port,
    drainMs,
    adminBy(configured = {}, env) {
      const place = {
        host: host ?? configured.host ?? ADMIN_HOST,
        // Whoever takes any port for deliveries runs several of these beside each other.
        port: adminPort ?? configured.port ?? (port === 0 ? 0 : ADMIN_PORT),
        token: configured.token ?? (env.HOOKONCE_ADMIN_TOKEN || undefined),
      }
      // Refuses what is unsafe now, before anything is started.
      adminAccess(place)
      return place
    },
  }
}

export interface ListeningOptions {
  readonly hooks: Hookonce<Sources>
  readonly host: string
  readonly port: number
  readonly receives: boolean
  /** Undefined: another process has the admin listener. */
  readonly admin: AdminPlace | undefined
}

export interface Listening {
  readonly delivery: Listener
  readonly admin: Listener | undefined
}

/**
 * Opens both listeners. If one cannot be opened, hookonce is stopped and what was opened is closed.
 */
export async function listen({ hooks, admin, ...delivery }: ListeningOptions): Promise<Listening> {
  const looks = health(hooks.ready)
  let administering: Listener | undefined
  try {
    administering = admin && (await startAdmin({ ...admin, health: looks, metrics: hooks.metrics }))
    return { admin: administering, delivery: await startGateway({ ...delivery, hooks, health: looks }) }
  } catch (error) {
    await administering?.close(0)
    await hooks.stop()
    throw error
  }
}

/** The admin listener tells how it is while the rest drains; then it has this long. */
const ADMIN_CLOSE_MS = 200

/** Runs until it is told to stop; a second signal does not wait for the drain. */
export async function untilStopped(
  hooks: Hookonce<Sources>,
  { delivery, admin }: Listening,
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
  // A sender that stalls must not use up the time of the handlers: it will come again.
  await delivery.close(drainMs / 2)
  await hooks.stop({ drainMs: Math.max(0, end - performance.now()) })
  await admin?.close(ADMIN_CLOSE_MS)
}
