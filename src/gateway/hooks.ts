import { forwardTo } from '../forward/forward.ts'
import { type Hookonce, hookonce } from '../hookonce.ts'
import type { Options, Sources } from '../options.ts'
import type { GatewayConfig } from './config.ts'

/** hookonce for a gateway: every destination subscribes to each of its sources. */
export function gatewayHooks(config: GatewayConfig, options: Omit<Options, 'sources'>): Hookonce<Sources> {
  const hooks = hookonce<Sources>({ ...options, sources: config.sources })
  for (const destination of config.destinations) {
    const { name, types, concurrency, timeoutMs } = destination
    for (const [sourceName, source] of Object.entries(config.sources)) {
      if (destination.sources?.includes(sourceName) === false) continue
      hooks.on(sourceName, types, forwardTo(destination, source), {
        name,
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
    }
  }
  return hooks
}
