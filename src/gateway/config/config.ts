import { type CheckedAlerts, resolvedAlerts } from '../../alerts/config.ts'
import { type Destination, loadDestination } from '../../forward/destination.ts'
import { refusedAddress } from '../../forward/refused-hosts.ts'
import { ledgersFaults } from '../../input/ledgers-faults.ts'
import type { LedgersOptions } from '../../model/ledger-names.ts'
import { DEFAULT_SCHEMA } from '../../model/schema-name.ts'
import { sourceNameOf, tenantOf } from '../../model/source-key.ts'
import type { SigningSource } from '../../sources/sign.ts'
import { checkShape, type Shape } from './check-shape.ts'
import { type FaultCollector, faultCollector } from './faults.ts'
import { makeSource } from './make-source.ts'
import { type ReadFile, readConfigFile } from './read-file.ts'
import { type Route, type RouteConfig, routesOf } from './routes.ts'
import type { CheckedConfig, ConfiguredAdmin, ConfiguredLimits } from './schema.ts'
import { secretPlace } from './secrets.ts'

/*
 * The configuration of a gateway is a file that any tool can write. It is checked as a whole: all
 * faults are reported at once, each with its place. It refers to secrets by `env:NAME` or
 * `file:/path`.
 */

/** Limits of one source. */
export type SourceLimits = Pick<CheckedConfig['sources'][string], 'allow' | 'ratePerSecond' | 'maxBodyBytes'>

export interface GatewayConfig {
  readonly sources: Readonly<Record<string, SigningSource>>
  readonly sourceLimits: Readonly<Record<string, SourceLimits>>
  readonly destinations: readonly Destination[]
  /** The input from which the routes were made. */
  readonly routing: Omit<RouteConfig, 'sources'>
  readonly routes: readonly Route[]
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly admin?: ConfiguredAdmin | undefined
  /** A postgres:// URL, or `embedded`. The URL may hold a password: never log it. */
  readonly database?: string | undefined
  /** Several ledgers. The URLs in it may hold passwords: never log them. */
  readonly ledgers?: LedgersOptions | undefined
  readonly limits?: ConfiguredLimits | undefined
  readonly retention?: CheckedConfig['retention'] | undefined
  /** Undefined: the rules have their defaults, and there are no channels. */
  readonly alerts?: CheckedAlerts | 'off' | undefined
  readonly encryption?: { readonly key: readonly string[] } | undefined
  readonly openTelemetry?: CheckedConfig['openTelemetry'] | undefined
}

export interface ReadTerms {
  /**
   * Also refuses a configuration that `hookonce serve` cannot serve: destinations that no request
   * may reach, and sources without a destination.
   */
  readonly serves?: boolean
}

export async function readConfig(
  file: string,
  env: NodeJS.ProcessEnv,
  terms: ReadTerms = {},
): Promise<GatewayConfig> {
  return gatewayConfig(await readConfigFile(file), env, terms)
}

/** Throws one error with every fault and its place. */
export async function gatewayConfig(
  read: ReadFile,
  env: NodeJS.ProcessEnv,
  { serves = false }: ReadTerms = {},
): Promise<GatewayConfig> {
  const shape = checkShape(read)
  const { config } = shape
  const reader = faultCollector(env)
  for (const fault of shape.faults) reader.report(fault)
  if (!config) throw reader.error(read)
  const { sources, sourceLimits } = await sourcesOf(config, reader)
  const destinations = await Promise.all(
    Object.entries(config.destinations).map(([name, destination]) =>
      loadDestination(name, destination, { file: read.file, faults: reader }),
    ),
  )
  const routing = {
    destinations: Object.entries(config.destinations).map(([name, { sources: wanted, types }]) => ({
      name,
      sources: wanted,
      types: isGiven(read.value, ['destinations', name, 'types']) ? types : undefined,
    })),
    routes: config.routes,
  }
  const routes = routesIn(routing, shape, reader)
  if (serves) {
    reportRefused(config, reader)
    reportIdle({ sources, routes }, reader)
  }
  const { token, ...admin } = config.admin ?? {}
  const result = {
    sources,
    sourceLimits,
    destinations,
    routing,
    routes,
    host: config.host,
    port: config.port,
    admin: {
      ...admin,
      ...(token === undefined
        ? {}
        : { token: reader.secret(token, ['admin', 'token'], 'it gives access to the admin listener') }),
    },
    database: databaseOf(config, reader),
    ledgers: ledgersOf(config, schemaOf(env), reader),
    limits: config.limits,
    retention: config.retention,
    encryption: encryptionOf(config, reader),
    alerts: await alertsOf(config, reader),
    openTelemetry: config.openTelemetry,
  }
  if (reader.hasFaults()) throw reader.error(read)
  return result
}

/** Names of faulty parts count as known names, because their faults are already reported. */
function routesIn(
  { destinations, routes }: Omit<RouteConfig, 'sources'>,
  { names, routeNumbers, faults }: Shape,
  reader: FaultCollector,
): Route[] {
  const faulty = names.destinations.filter((name) => !destinations.some((one) => one.name === name))
  const all = [...destinations, ...faulty.map((name) => ({ name }))]
  const found = routesOf({ destinations: all, routes, sources: names.sources })
  // Without any names, each name in a route would be unknown.
  const isNameless = faults.some(
    ({ path }) => path.length === 1 && /^(sources|destinations)$/.test(String(path[0])),
  )
  if (isNameless) return found.routes
  for (const fault of found.faults) {
    const [top, number, ...rest] = fault.path
    const isRoute = top === 'routes' && typeof number === 'number'
    reader.report(isRoute ? { ...fault, path: [top, routeNumbers[number] ?? number, ...rest] } : fault)
  }
  return found.routes
}

/**
 * Checks addresses in URLs against the policy. Names are resolved and checked at each connection.
 */
function reportRefused({ destinations }: CheckedConfig, reader: FaultCollector): void {
  for (const [name, destination] of Object.entries(destinations)) {
    const message = refusedAddress({ ...destination, name })
    if (message !== undefined) reader.report({ path: ['destinations', name, 'url'], message })
  }
}

/** Every source needs a destination, or its events would be acknowledged and forgotten. */
function reportIdle(
  { sources, routes }: Pick<GatewayConfig, 'sources' | 'routes'>,
  reader: FaultCollector,
): void {
  // A route with a fault may be the missing route of this source.
  if (reader.hasFaultIn('routes')) return
  for (const [name, { unwanted }] of Object.entries(sources)) {
    if (unwanted === 'record' || routes.some(({ source }) => source === name)) continue
    const message = 'no destination gets the events of this source'
    reader.report({ path: ['sources', name], message, key: name }, 'DESTINATION_MISSING')
  }
}

async function sourcesOf(config: CheckedConfig, reader: FaultCollector) {
  const sources: Record<string, SigningSource> = {}
  const sourceLimits: Record<string, SourceLimits> = {}
  const identities = new Map<string, string>()
  for (const [name, given] of Object.entries(config.sources)) {
    const { provider, secret = [], allow, ratePerSecond, maxBodyBytes, ...options } = given
    const path = ['sources', name]
    const references = [secret].flat()
    const secrets = references.map((reference, index) => {
      const place = Array.isArray(secret) ? [...path, 'secret', index] : [...path, 'secret']
      const text = reader.sourceSecret(reference, place)
      return text === undefined ? undefined : secretPlace(reference, text)
    })
    const tenant = tenantOf(name) ?? options.tenant
    // The fault of the secret is already reported; the provider would report it as missing.
    const hasSecrets = !secrets.includes(undefined)
    const attempt = hasSecrets ? reader.attempt : reader.onlyOptions
    const source = await attempt(path, () =>
      makeSource(provider, {
        ...options,
        ...(tenant === undefined ? {} : { tenant }),
        secret: hasSecrets && secrets.length > 0 ? secrets : undefined,
      }),
    )
    if (tenantOf(name) !== undefined && options.tenant !== undefined && options.tenant !== tenant)
      reader.report({
        path: [...path, 'tenant'],
        message: `the key of this source names the tenant "${tenant}"`,
      })
    const identity = `${tenant ?? 'default'}/${sourceNameOf(name)}`
    const other = identities.get(identity)
    if (other !== undefined)
      reader.report({ path, message: `is the same source as "${other}": both are ${identity}`, key: name })
    identities.set(identity, name)
    if (source && hasSecrets) sources[name] = source
    if ([allow, ratePerSecond, maxBodyBytes].some((limit) => limit !== undefined))
      sourceLimits[name] = { allow, ratePerSecond, maxBodyBytes }
  }
  return { sources, sourceLimits }
}

async function alertsOf({ alerts }: CheckedConfig, reader: FaultCollector): Promise<GatewayConfig['alerts']> {
  if (alerts === 'off') return 'off'
  return reader.attempt(['alerts'], async () =>
    resolvedAlerts(alerts, 'alerts', (reference, path) =>
      reader.secret(reference, path, 'a channel of the alerts needs it'),
    ),
  )
}

function encryptionOf({ encryption }: CheckedConfig, reader: FaultCollector): GatewayConfig['encryption'] {
  if (encryption === undefined) return undefined
  const use = 'it encrypts bodies and headers in the ledger'
  const keys = [encryption.key].flat().map((one) => reader.secret(one, ['encryption', 'key'], use) ?? '')
  return { key: keys }
}

function databaseOf({ database }: CheckedConfig, reader: FaultCollector): string | undefined {
  if (database === undefined || database === 'embedded') return database
  return reader.secret(database, ['database'], 'it names the database')
}

/** The schema name that the names of the ledgers begin with. */
function schemaOf({ HOOKONCE_SCHEMA }: NodeJS.ProcessEnv): string {
  return HOOKONCE_SCHEMA || DEFAULT_SCHEMA
}

function ledgersOf(
  { ledgers }: CheckedConfig,
  schema: string,
  reader: FaultCollector,
): LedgersOptions | undefined {
  if (ledgers === undefined) return undefined
  const given =
    typeof ledgers === 'number' ? { count: ledgers, also: [], placement: {}, tenants: {} } : ledgers
  for (const { path, message } of ledgersFaults(schema, given))
    reader.report({ path: ['ledgers', ...path], message })
  const placement = Object.entries(given.placement).map(([name, place]) => [
    name,
    reader.secret(place, ['ledgers', 'placement', name], 'the URL may hold a password'),
  ])
  return { ...given, placement: Object.fromEntries(placement) }
}

function isGiven(value: unknown, path: readonly string[]): boolean {
  const found = path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  return found !== undefined
}
