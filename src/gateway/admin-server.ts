import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorCatalogue, HookonceError } from '../model/errors.ts'
import { OPEN_METRICS_TYPE, openMetricsText, prefersOpenMetrics } from '../observe/open-metrics.ts'
import { prometheusText } from '../observe/prometheus.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import { operatorError } from '../operate/operator-error.ts'
import { sharedLook } from '../work/shared-look.ts'
import { type AdminAddress, type LocalAccess, requireSafeAddress } from './access.ts'
import { type ApiOptions, adminApi } from './api/api.ts'
import type { Gate } from './api/gate.ts'
import { dashboard } from './dashboard.ts'
import { type Health, LOOK_FRESH_MS } from './health.ts'
import { type Listener, openListener, sendText } from './listener.ts'

export interface AdminOptions extends AdminAddress {
  /** 0: any free port. */
  readonly port: number
  /** The path under which a proxy serves this listener, without a slash at its end. */
  readonly path: string
  /** The rights of requests without a token. */
  readonly local: LocalAccess
  readonly health: Health
  readonly metrics: () => Promise<MetricsSnapshot>
  readonly api: Omit<ApiOptions, 'token' | 'local'>
}

const API = '/api/v1'
/**
 * Far more than operators need. Strangers may also reach this listener: their connections must not
 * use up the file descriptors that deliveries need.
 */
const MAX_CONNECTIONS = 1_000

/**
 * The listener for operators, separate from the one that strangers reach: the dashboard, the API,
 * `/metrics` and health. With several processes, only the first has it.
 */
export async function startAdmin({
  host,
  port,
  path: mount,
  token,
  local,
  ...options
}: AdminOptions): Promise<Listener> {
  requireSafeAddress({ host, token })
  const api = adminApi({ ...options.api, token, local })
  const metrics = sharedLook(options.metrics, LOOK_FRESH_MS)
  const page = dashboard({ mount })
  const listener = await openListener({
    host,
    port,
    maxConnections: MAX_CONNECTIONS,
    flags: { host: '--admin-host', port: '--admin-port' },
    answer(request, response, whole) {
      const apiPath = whole.startsWith(`${mount}${API}/`) ? whole.slice(mount.length + API.length) : undefined
      if (apiPath !== undefined)
        return api.answer(request, response, { path: apiPath, mount: `${mount}${API}` })
      request.resume()
      // Health probes on the machine itself bypass the proxy, so their paths lack the mount path.
      if (options.health(whole, response)) return
      if (whole === mount) return sendText(response, 308, `It is at ${mount}/\n`, { location: `${mount}/` })
      if (!whole.startsWith(`${mount}/`)) return sendText(response, 404, `This listener serves ${mount}/\n`)
      const path = whole.slice(mount.length)
      if (options.health(path, response) || page.answer(request, response, path)) return
      void answerText(path, response, { gate: api.gate, request, metrics })
    },
  })
  return {
    ...listener,
    async close(withinMs) {
      await Promise.all([listener.close(withinMs), api.close()])
    },
  }
}

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'

interface TextRequest {
  readonly gate: Gate
  readonly request: IncomingMessage
  readonly metrics: () => Promise<MetricsSnapshot>
}

async function answerText(
  path: string,
  response: ServerResponse,
  { gate, request, metrics }: TextRequest,
): Promise<void> {
  try {
    const { caller } = await gate.identify(request, 'metrics')
    if (caller.tenant !== undefined)
      throw new HookonceError(
        'FORBIDDEN',
        'metrics cover all tenants, but this token is limited to one tenant',
      )
  } catch (error) {
    return sendDenial(response, operatorError(error))
  }
  if (path !== '/metrics')
    return sendText(
      response,
      404,
      'This listener serves the dashboard at /, /api/v1, /metrics, /healthz and /readyz\n',
    )
  await metrics().then(
    (snapshot) => {
      const isOpen = prefersOpenMetrics(request.headers.accept)
      const text = isOpen ? openMetricsText(snapshot) : prometheusText(snapshot)
      sendText(response, 200, text, {
        'content-type': isOpen ? OPEN_METRICS_TYPE : PROMETHEUS,
        vary: 'accept',
      })
    },
    () => sendText(response, 503, 'the metrics cannot be read now\n'),
  )
}

function sendDenial(response: ServerResponse, error: unknown): void {
  const code = error instanceof HookonceError ? error.code : 'INTERNAL_ERROR'
  const { status, advice } = errorCatalogue[code] as { status?: number; advice: string }
  const headers = status === 401 ? { 'www-authenticate': 'Bearer realm="hookonce"' } : {}
  sendText(
    response,
    status ?? 500,
    `${error instanceof HookonceError ? error.message : code}\n${advice}\n`,
    headers,
  )
}
