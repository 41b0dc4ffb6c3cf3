/* Names of headers that forwarding treats specially, in lower case. */

/** Headers of a connection or of the framing of a request, so each request sets its own. */
const OF_THE_REQUEST = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that may hold credentials of the sender. */
const CREDENTIALS = new Set(['authorization', 'cookie'])

export function isNeverForwarded(name: string): boolean {
  return OF_THE_REQUEST.has(name) || CREDENTIALS.has(name)
}

/** Whether hookonce sets the header itself: neither an option nor a transform may set it. */
export function isOurs(name: string): boolean {
  return OF_THE_REQUEST.has(name) || /^(webhook-|hookonce-)/.test(name) || name === 'idempotency-key'
}
