import { sharedLook } from '../work/shared-look.ts'
import { type AdminAddress, adminAccess } from './access.ts'
import { type Health, LOOK_FRESH_MS } from './health.ts'
import { type Listener, openListener, sendText } from './listener.ts'

export interface AdminOptions extends AdminAddress {
  /** 0: any free port. */
  readonly port: number
  readonly health: Health
  readonly metrics: () => Promise<string>
}

/**
 * The listener for operators, separate from the one that strangers reach: `/metrics` and health.
 * With several processes, only the first has it.
 */
export async function startAdmin({ host, port, token, ...options }: AdminOptions): Promise<Listener> {
  const access = adminAccess({ host, token })
  const metrics = sharedLook(options.metrics, LOOK_FRESH_MS)
  return openListener({
    host,
    port,
    flags: { host: '--admin-host', port: '--admin-port' },
    answer(request, response, path) {
      request.resume()
      if (options.health(path, response)) return
      const denial = access(request)
      if (denial) return sendText(response, denial.status, denial.text, denial.headers)
      if (path !== '/metrics') return sendText(response, 404, 'There are /metrics, /healthz and /readyz\n')
      metrics().then(
        (text) => sendText(response, 200, text, { 'content-type': PROMETHEUS }),
        () => sendText(response, 503, 'the metrics cannot be read now\n'),
      )
    },
  })
}

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'
