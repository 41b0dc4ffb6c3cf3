import { RECONCILED_HEADER } from '../../model/reconciled.ts'
import { headerRecord } from '../../sources/headers.ts'
import { isProofOfBody } from '../../sources/redact/body-proofs.ts'
import { MARKER } from '../../sources/redact/marker.ts'

/** Headers of the connection or of proxies, and headers without meaning for the event. */
const OF_TRANSPORT =
  /^(host|user-agent|accept(-.*)?|forwarded|via|x-forwarded-.*|x-real-ip|cdn-loop|cf-.*|sec-.*|x-envoy-.*|x-request-id|traceparent|tracestate|baggage|cache-control|pragma)$/

/**
 * The headers that a test must deliver: headers that name the event, or that a handler may read.
 * Signatures and their times are left out, because the test signs anew. Headers of the connection
 * are left out too.
 */
export function deliveredHeaders(lines: string): Record<string, string> {
  const all = Object.entries(headerRecord(lines))
  return Object.fromEntries(all.filter(([name, value]) => value !== MARKER && isDelivered(name, value)))
}

function isDelivered(name: string, value: string): boolean {
  if (name === RECONCILED_HEADER || OF_TRANSPORT.test(name)) return false
  // The usual content type is omitted.
  if (name === 'content-type') return !/^application\/json\b/i.test(value)
  return !isProofOfBody(name) && !/(^|-)timestamp($|-)/.test(name)
}
