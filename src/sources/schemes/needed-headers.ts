import type { Delivery, Refusal } from '../contract.ts'
import { isHeaderName } from '../places.ts'
import { refuseHeader } from './refuse.ts'

// Eight signatures of the longest kind, with their names, take 1.2 kB. Longer headers are rejected
// at 4 kB.
export const MAX_HEADER_CHARS = 4096

/** The headers that a signature needs. Rejects the delivery if one is missing or too long. */
export function neededHeaders<Name extends string>(
  delivery: Delivery,
  names: readonly Name[],
): { readonly [name in Name]: string } | Refusal {
  const found: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = delivery.header(name)
    if (!value) return refuseHeader('SIGNATURE_MISSING', name, `the header ${name} is missing`)
    if (value.length > MAX_HEADER_CHARS)
      return refuseHeader(
        'SIGNATURE_MALFORMED',
        name,
        `the header ${name} is longer than ${MAX_HEADER_CHARS} characters`,
      )
    found[name] = value
  }
  return found as Record<Name, string>
}

/**
 * A header that the delivery lists as signed. The sender chose the name, so it is validated:
 * `constructor` is not a header.
 */
export function listedHeader(delivery: Delivery, name: string): string | undefined {
  if (!isHeaderName(name)) return undefined
  const value: unknown = delivery.header(name.toLowerCase())
  return typeof value === 'string' ? value : undefined
}
