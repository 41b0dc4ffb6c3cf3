import { isIP } from 'node:net'
import { listOf, plainAddress } from './address-kinds.ts'

/* Ranges of IP addresses, and the address of a client behind proxies. */

const BITS = { ipv4: 32, ipv6: 128 } as const
type Family = keyof typeof BITS

interface AddressRange {
  readonly address: string
  readonly family: Family
  readonly prefix: number
}

/** `192.0.2.0/24`, `2001:db8::/32`, or one address. Undefined for any other text. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', prefixText, ...rest] = text.split('/')
  const family = familyOf(address)
  if (family === undefined || rest.length > 0) return undefined
  if (prefixText === undefined) return { address, family, prefix: BITS[family] }
  const prefix = Number(prefixText)
  return /^\d{1,3}$/.test(prefixText) && prefix <= BITS[family] ? { address, family, prefix } : undefined
}

/** Whether an address is in one of the ranges. */
export type AddressSet = (address: string) => boolean

/** Ignores texts that are not ranges: the check of the options has refused them. */
export function addressSet(ranges: readonly string[]): AddressSet {
  const list = listOf(ranges.filter((text) => parseRange(text) !== undefined))
  return (address) => {
    const family = familyOf(address)
    return family !== undefined && list.check(address, family)
  }
}

/**
 * The client's address. Each trusted proxy has added the address of its client to
 * `x-forwarded-for`, so the header is read from its end while the sender is trusted. Undefined if a
 * trusted proxy forwarded a value that is not an address.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  isTrusted: AddressSet,
): string | undefined {
  let address = plainAddress(peer ?? '')
  const forwarded = forwardedFor?.split(',') ?? []
  while (address !== undefined && isTrusted(address)) {
    const before = forwarded.pop()
    if (before === undefined) break
    address = plainAddress(withoutPort(before.trim()))
  }
  return address
}

/** A proxy may add the port. */
function withoutPort(text: string): string {
  return /^(\[.*\]|[\d.]+):\d+$/.exec(text)?.[1] ?? text
}

function familyOf(address: string): Family | undefined {
  const version = isIP(address)
  return version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6'
}
