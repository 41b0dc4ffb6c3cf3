// @ts-check
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The default tolerance of Stripe. */
const TOLERANCE_SECONDS = 300

/**
 * A careful hand-written check: HMAC over the raw bytes, compared in constant time, with the
 * tolerance.
 * @param {Buffer} body
 * @param {string | undefined} header `t=…,v1=…`
 * @param {string} secret
 */
export function isSigned(body, header, secret) {
  if (header === undefined) return false
  let timestamp = ''
  const signatures = []
  for (const item of header.split(',')) {
    if (item.startsWith('t=')) timestamp = item.slice(2)
    else if (item.startsWith('v1=')) signatures.push(item.slice(3))
  }
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
  return signatures.some((signature) => {
    const given = Buffer.from(signature, 'hex')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
