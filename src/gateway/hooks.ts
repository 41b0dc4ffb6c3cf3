import { forwardTo } from '../forward/forward.ts'
import { type Hookonce, hookonce } from '../hookonce.ts'
import type { Options, Sources } from '../options.ts'
import type { GatewayConfig } from './config.ts'

/** The engine of a gateway: every destination is a subscriber to each of its sources. */
export function gatewayHooks(config: GatewayConfig, options: Omit<Options, 'sources'>): Hookonce<Sources> {
  const hooks = hookonce<Sources>({ ...options, sources: config.sources })
  for (const destination of config.destinations) {
    const { name, types, concurrency, timeoutMs } = destination
    for (const source of destination.sources ?? Object.keys(config.sources)) {
      hooks.on(source, types, forwardTo(destination), {
        name,
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
    }
  }
  return hooks
}
