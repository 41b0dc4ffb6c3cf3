import { z } from 'zod'
import type { CheckedDescription } from '../sources/description.ts'

/*
 * Which headers of a delivery a destination gets: those that its source reads, and those that the
 * destination asks for. Anything else may be a token of the sender, of a proxy or of a load
 * balancer, and stays here.
 */

/** `x-shop-domain`, or all with one beginning: `x-shopify-*`. */
export const headerPattern = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9!#$%&'+.^_`|~-]{2,}\*?$/, 'expected the name of a header, or its beginning: "x-shopify-*"')

/** They concern the delivery to us, not the one from us. */
const NEVER = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'proxy-authorization',
  'transfer-encoding',
  'upgrade',
])

/** Takes a name in lower case. */
export function forwardable(
  description: CheckedDescription,
  asked: readonly string[],
): (name: string) => boolean {
  const secrets = secretHeaders(description)
  const names = new Set(['content-type', ...headersRead(description), ...asked])
  const beginnings = asked.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  return (name) => {
    if (NEVER.has(name) || secrets.has(name)) return false
    return names.has(name) || beginnings.some((beginning) => name.startsWith(beginning))
  }
}

/** Of signatures, dates, event keys, types and so on. */
function headersRead({ signature, timestamp, event }: CheckedDescription): string[] {
  const places = JSON.stringify({ signature, timestamp, event })
  const located = [...places.matchAll(/header:([\w!#$%&'*+.^`|~-]+)/g)].map(([, name = '']) => name)
  return [...located, ...signatureHeaders(signature)].map((name) => name.toLowerCase())
}

/** Where the secret itself travels with each delivery. */
function secretHeaders({ signature }: CheckedDescription): Set<string> {
  return new Set(signature.algorithm === 'token' ? signatureHeaders(signature) : [])
}

function signatureHeaders(signature: CheckedDescription['signature']): string[] {
  return 'header' in signature && signature.header !== undefined ? [signature.header].flat() : []
}
