import { type LocalAccess, requireSafeAddress } from '../gateway/access.ts'
import { type AdminOptions, startAdmin } from '../gateway/admin-server.ts'
import { gatewayFacts } from '../gateway/api/gateway-facts.ts'
import type { CaptureRing } from '../gateway/capture/ring.ts'
import type { GatewayConfig } from '../gateway/config/config.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { health } from '../gateway/health.ts'
import type { Listener } from '../gateway/listener.ts'
import { startDelivery } from '../gateway/server.ts'
import { urlOfListener } from '../gateway/test-event.ts'
import { DRAIN_MS, operatorsOf } from '../hookonce.ts'
import { HookonceError } from '../model/errors.ts'
import type { Logger } from '../observe/logs.ts'
import { troubleLog } from '../observe/trouble-log.ts'
import { type Command, parseDuration, parsePort, usageError } from './command.ts'

/*
 * The common part of `dev` and `serve`: their options, their listeners, and the stop on a signal.
 */

/** Options of every command that runs a gateway. */
export const gatewayOptions = {
  config: { type: 'string' },
  ledgers: { type: 'string' },
  port: { type: 'string' },
  'admin-host': { type: 'string' },
  'admin-port': { type: 'string' },
  'admin-path': { type: 'string' },
  drain: { type: 'string', default: `${DRAIN_MS / 1_000}s` },
} as const

interface GatewayValues {
  readonly port?: string | undefined
  readonly 'admin-host'?: string | undefined
  readonly 'admin-port'?: string | undefined
  readonly 'admin-path'?: string | undefined
  readonly drain: string
}

/** The address of the admin listener, and its token. */
export type AdminPlace = Pick<AdminOptions, 'host' | 'port' | 'path' | 'token' | 'local'>

type Configured = Pick<GatewayConfig, 'port' | 'admin'>

export interface GatewaySettings {
  readonly drainMs: number
  /** Options of the command line override the configuration. */
  deliveryPort(configured: Configured): number
  adminPlace(configured: Configured, env: NodeJS.ProcessEnv): AdminPlace
}

export const DELIVERY_PORT = 4400
export const ADMIN_HOST = '127.0.0.1'
export const ADMIN_PORT = 4401
/** No handler should run longer than an hour. A larger value probably has the wrong unit. */
const MAX_DRAIN_MS = 3_600_000

/** `local`: the rights of requests without a token, if no proxy is configured. */
export function parseGatewayOptions(
  command: Pick<Command, 'usage'>,
  values: GatewayValues,
  local: LocalAccess,
): GatewaySettings {
  const port = values.port === undefined ? undefined : parsePort(command, values.port)
  const drainMs = parseDuration(command, values.drain)
  if (drainMs > MAX_DRAIN_MS) throw usageError(command, `--drain must be 1h at most, not "${values.drain}"`)
  const { 'admin-host': host, 'admin-port': portText, 'admin-path': path } = values
  const adminPort = portText === undefined ? undefined : parsePort(command, portText, '--admin-port')
  if (path !== undefined && !path.startsWith('/'))
    throw usageError(command, `--admin-path must begin with "/", not "${path}"`)

  function deliveryPort(configured: Configured): number {
    return port ?? configured.port ?? DELIVERY_PORT
  }

  return {
    drainMs,
    deliveryPort,
    adminPlace(configured, env) {
      const { admin = {} } = configured
      // With --port 0 several gateways may run on this machine, so the admin port is also any free
      // port.
      const usualPort = deliveryPort(configured) === 0 ? 0 : ADMIN_PORT
      const mount = (path ?? admin.path ?? '').replace(/\/+$/, '')
      const place = {
        host: host ?? admin.host ?? ADMIN_HOST,
        port: adminPort ?? admin.port ?? usualPort,
        path: mount,
        // With a path, a proxy makes this listener reachable for strangers.
        local: mount === '' ? local : ('nothing' as const),
        token: admin.token ?? (env.HOOKONCE_ADMIN_TOKEN || undefined),
      }
      // Rejects an unsafe address before anything is started.
      requireSafeAddress(place)
      return place
    },
  }
}

export interface DeliveryPlace {
  readonly port: number
  readonly url: string
  /** The only tenant whose sources the caller may see. Undefined: all tenants. */
  readonly tenant: string | undefined
}

export interface ListenerOptions {
  readonly gateway: Gateway
  readonly host: string
  readonly port: number
  readonly maxConnections: number
  readonly receives: boolean
  /** Undefined: another process has the admin listener. */
  readonly admin: AdminPlace | undefined
  readonly logger: Logger
  /** Requests to sources that are not configured. Undefined: they are not kept. */
  readonly captured?: CaptureRing | undefined
  /** Makes a command that sends a signed event to this gateway. */
  readonly firstEvent: (place: DeliveryPlace) => string | undefined
  /** Makes a command that verifies a stored delivery of a configured source. */
  readonly verifyCommand: (source: string) => string
}

/**
 * The parts of a gateway that the admin API uses. A reload replaces the instance of hookonce, so
 * the instance is read at each use.
 */
function apiOf(
  gateway: Gateway,
  port: () => number | undefined,
  options: Pick<
    ListenerOptions,
    'logger' | 'captured' | 'firstEvent' | 'verifyCommand' | 'receives' | 'host'
  >,
): AdminOptions['api'] {
  const { logger, captured, firstEvent, verifyCommand, receives, host } = options
  const place = (): Omit<DeliveryPlace, 'tenant'> | undefined => {
    const opened = port()
    if (opened === undefined || !receives) return undefined
    return { port: opened, url: urlOfListener(host, opened) }
  }
  return {
    ledger: () => operatorsOf(gateway.current()),
    gateway: gatewayFacts(gateway.config, {
      captured,
      firstEvent(tenant) {
        const found = place()
        return found && firstEvent({ ...found, tenant })
      },
      deliveryUrl: () => place()?.url,
      verifyCommand,
    }),
    onTrouble: troubleLog(logger),
  }
}

export interface Listeners {
  readonly delivery: Listener
  readonly admin: Listener | undefined
}

/**
 * Opens both listeners. If one fails, it stops the gateway and closes the other. Both are tried, so
 * that one error names every port that is taken.
 */
export async function openListeners(options: ListenerOptions): Promise<Listeners> {
  const {
    gateway,
    admin,
    logger: _,
    captured: __,
    firstEvent: ___,
    verifyCommand: ____,
    ...delivery
  } = options
  const checks = health(gateway.ready)
  // The first requests may arrive before the delivery port is known.
  let port: number | undefined
  const api = apiOf(gateway, () => port, options)
  const [deliveryOpened, adminOpened] = await Promise.allSettled([
    startDelivery({ ...delivery, gateway, health: checks }).then((opened) => {
      port = opened.port
      return opened
    }),
    admin && startAdmin({ ...admin, health: checks, metrics: gateway.metrics, api }),
  ])
  if (deliveryOpened.status === 'fulfilled' && adminOpened.status === 'fulfilled')
    return { delivery: deliveryOpened.value, admin: adminOpened.value }
  for (const opened of [deliveryOpened, adminOpened])
    if (opened.status === 'fulfilled') await opened.value?.close(0)
  await gateway.stop({ drainMs: DRAIN_MS })
  throw listenersError([deliveryOpened, adminOpened])
}

/** The error of the listener that failed. If both ports are taken, one error names both. */
function listenersError(opened: readonly PromiseSettledResult<unknown>[]): unknown {
  const errors = opened.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
  const taken = errors.filter(
    (error): error is HookonceError => error instanceof HookonceError && error.code === 'PORT_TAKEN',
  )
  if (taken.length < 2) return errors[0]
  const faults = taken.map(({ code, message }) => message.replace(`${code}: `, ''))
  return new HookonceError('PORT_TAKEN', faults.join('\n'))
}

export async function closeListeners({ delivery, admin }: Listeners): Promise<void> {
  await Promise.all([delivery.close(0), admin?.close(0)])
}

/**
 * The admin listener serves until the drain is over. Requests in progress may then take this long.
 */
const ADMIN_CLOSE_MS = 200

/** Waits for SIGINT or SIGTERM, then drains. A second signal exits at once. */
export async function runUntilSignal(
  gateway: Gateway,
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
  // A stalled sender must not use up the handlers' drain time. The provider retries its delivery.
  await delivery.close(drainMs / 2)
  await gateway.stop({ drainMs: Math.max(0, end - performance.now()) })
  await admin?.close(ADMIN_CLOSE_MS)
}
