import type { Gateway } from './gateway.ts'
import type { Health } from './health.ts'
import { type Listener, openListener, sendText } from './listener.ts'

export interface DeliveryOptions {
  readonly gateway: Pick<Gateway, 'receive'>
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly maxConnections: number
  /** False: this process only works, and answers health checks. */
  readonly receives: boolean
  readonly health: Health
}

const PATHS = 'Deliveries come in at POST /in/:source or /in/:tenant/:source\n'

/** The listener for the internet: deliveries, and `/healthz` and `/readyz`. */
export function startDelivery({ gateway, receives, health, ...place }: DeliveryOptions): Promise<Listener> {
  return openListener({
    ...place,
    flags: { host: '--host', port: '--port' },
    answer(request, response, path) {
      if (receives && gateway.receive(request, response, path)) return
      request.resume()
      if (!health(path, response)) sendText(response, 404, PATHS)
    },
  })
}
