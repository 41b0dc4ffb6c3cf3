import { z } from 'zod'
import type { CheckedDescription } from '../sources/description.ts'
import { secretHeaders } from '../sources/signature.ts'
import { isNeverForwarded } from './header-names.ts'

/*
 * Selects the headers of a delivery that are forwarded to a destination: those that its source
 * reads, and those that the destination lists. Other headers may hold a token of the sender, of a
 * proxy or of a load balancer, so they are not forwarded.
 */

/** `x-shop-domain`, or all names with one prefix: `x-shopify-*`. */
export const headerPattern = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9!#$%&'+.^_`|~-]{2,}\*?$/, 'expected the name of a header, or its beginning: "x-shopify-*"')

/** `name` is in lower case. */
export function forwardable(
  description: CheckedDescription,
  listed: readonly string[],
): (name: string) => boolean {
  const secrets = new Set(secretHeaders(description.signature))
  const names = new Set(['content-type', ...headersRead(description), ...listed])
  const prefixes = listed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  return (name) => {
    if (isNeverForwarded(name) || secrets.has(name)) return false
    return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
  }
}

/** The headers that hold signatures, dates, event keys, types and so on. */
function headersRead({ signature, timestamp, event }: CheckedDescription): string[] {
  const places = JSON.stringify({ signature, timestamp, event })
  const located = [...places.matchAll(/header:([\w!#$%&'*+.^`|~-]+)/g)].map(([, name = '']) => name)
  return [...located, ...signatureHeaders(signature)].map((name) => name.toLowerCase())
}

function signatureHeaders(signature: CheckedDescription['signature']): string[] {
  return 'header' in signature && signature.header !== undefined ? [signature.header].flat() : []
}
