import type { GatewayConfig } from '../gateway/config/config.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { restartNeeded } from '../gateway/restart-needed.ts'
import type { Logger } from '../observe/logs.ts'

/** The connection limit of the delivery listener, unless the configuration sets one. */
export const MAX_CONNECTIONS = 10_000

export interface ReloaderOptions {
  readonly gateway: Gateway
  readonly limitConnections: (maxConnections: number) => void
  readonly logger: Logger
  /** The configuration of the start. */
  readonly config: GatewayConfig
  /** Reads and checks the file. */
  readonly read: () => Promise<GatewayConfig>
}

/** Reads the configuration again, and applies it in this process. */
export function reloader({
  gateway,
  limitConnections,
  logger,
  config,
  read,
}: ReloaderOptions): () => Promise<void> {
  return async () => {
    const next = await read()
    await gateway.replace(next)
    limitConnections(next.limits?.maxConnections ?? MAX_CONNECTIONS)
    const fixed = restartNeeded(config, next)
    if (fixed.length > 0)
      logger.warn({ options: fixed }, 'some changed options take effect only after a restart')
  }
}
