import type { Hookonce } from '../hookonce.ts'
import type { Sources } from '../options.ts'
import type { Health } from './health.ts'
import { type Listener, openListener, sendText } from './listener.ts'

export interface GatewayOptions {
  readonly hooks: Pick<Hookonce<Sources>, 'node'>
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** False: this process only works, and answers health checks. */
  readonly receives: boolean
  readonly health: Health
}

const IN = /^\/in\/[^/]+\/?$/

/** The listener for the internet: `POST /in/:source` receives, `/healthz` and `/readyz` report. */
export function startGateway({ hooks, host, port, receives, health }: GatewayOptions): Promise<Listener> {
  const receive = hooks.node()
  return openListener({
    host,
    port,
    flags: { host: '--host', port: '--port' },
    answer(request, response, path) {
      if (receives && IN.test(path)) return void receive(request, response)
      request.resume()
      if (!health(path, response)) sendText(response, 404, 'Deliveries come in at POST /in/:source\n')
    },
  })
}
