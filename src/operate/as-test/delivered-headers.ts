import { RECONCILED_HEADER } from '../../model/reconciled.ts'
import { headerRecord } from '../../sources/headers.ts'
import { isProofOfBody } from '../../sources/redact/body-proofs.ts'
import { MARKER } from '../../sources/redact/marker.ts'

/** Of the connection, of proxies, or of no meaning for the event. */
const OF_TRANSPORT =
  /^(host|user-agent|accept(-.*)?|forwarded|via|x-forwarded-.*|x-real-ip|cdn-loop|cf-.*|sec-.*|x-envoy-.*|x-request-id|traceparent|tracestate|baggage|cache-control|pragma)$/

/**
 * The headers that a test must deliver: those that name the event or that a handler may read. Left
 * out are signatures and their times, which the test makes anew, and what the connection adds.
 */
export function deliveredHeaders(lines: string): Record<string, string> {
  const all = Object.entries(headerRecord(lines))
  return Object.fromEntries(all.filter(([name, value]) => value !== MARKER && isDelivered(name, value)))
}

function isDelivered(name: string, value: string): boolean {
  if (name === RECONCILED_HEADER || OF_TRANSPORT.test(name)) return false
  // The usual one needs no mention.
  if (name === 'content-type') return !/^application\/json\b/i.test(value)
  return !isProofOfBody(name) && !/(^|-)timestamp($|-)/.test(name)
}
