import type { GatewayConfig } from './config/config.ts'

/** The options that a running gateway cannot change. */
const FIXED: Readonly<Record<string, (config: GatewayConfig) => unknown>> = {
  host: ({ host }) => host,
  port: ({ port }) => port,
  database: ({ database }) => database,
  ledgers: ({ ledgers }) => ledgers && JSON.stringify(ledgers),
  'admin.host': ({ admin }) => admin?.host,
  'admin.port': ({ admin }) => admin?.port,
  'admin.path': ({ admin }) => admin?.path,
  'admin.token': ({ admin }) => admin?.token,
}

/** The names of changed options that take effect only after a restart. Never their values. */
export function restartNeeded(before: GatewayConfig, after: GatewayConfig): string[] {
  return Object.entries(FIXED).flatMap(([name, read]) => (read(before) === read(after) ? [] : [name]))
}
