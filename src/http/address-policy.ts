import { isIPv4 } from 'node:net'
import { z } from 'zod'
import { type AddressKind, addressKind, listOf, plainAddress } from './address-kinds.ts'

/*
 * Decides which addresses requests to a configured host may reach: public addresses always, other
 * addresses only if listed. Names are resolved before each connection, and the connection goes to
 * the checked address. So a name that changes its address between check and use (DNS rebinding)
 * gains nothing.
 */

const EXPECTED = 'expected a host name, an address, or a range such as "10.0.0.0/8"'

/** `app.internal`, `*.internal`, `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
export const allowedHost = z.string().toLowerCase().refine(isAllowedHost, EXPECTED)

const NAME =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

function isAllowedHost(text: string): boolean {
  const [network = '', prefix, ...more] = text.split('/')
  const address = plainAddress(network)
  if (address === undefined) return prefix === undefined && NAME.test(text) && !/^[\d.]+$/.test(text)
  if (prefix === undefined) return true
  const bits = isIPv4(address) ? 32 : 128
  return more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
}

export interface AddressPolicy {
  /** The reason why a request to this host must not reach this address. Undefined: it may. */
  refusal(host: string, address: string): string | undefined
  /** The reason why no request to this host can succeed, if that is known without a lookup. */
  refusalOf(host: string): string | undefined
}

/** A listed name may lead into a private network, but not to credentials of this machine. */
const ALLOWED_BY_NAME: ReadonlySet<AddressKind> = new Set(['loopback', 'private'])

/** `allowed` holds names, addresses and ranges, checked by `allowedHost`. */
export function addressPolicy(allowed: readonly string[]): AddressPolicy {
  const isRange = (entry: string): boolean => plainAddress(entry.split('/')[0] ?? '') !== undefined
  const names = allowed.filter((entry) => !isRange(entry))
  const ranges = listOf(allowed.filter(isRange))
  const exact = new Set(allowed.map((entry) => plainAddress(entry)))

  function isAllowed(host: string, address: string, kind: AddressKind): boolean {
    if (kind === 'public' || exact.has(address)) return true
    // A listed range may contain a metadata address by accident.
    if (kind === 'metadata') return false
    if (ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')) return true
    return ALLOWED_BY_NAME.has(kind) && names.some((name) => isNamed(host, name))
  }

  function refusal(host: string, address: string): string | undefined {
    const plain = plainAddress(address)
    if (plain === undefined) return `${host} resolves to "${address}", which is not an address`
    const kind = addressKind(plain)
    if (isAllowed(host, plain, kind)) return undefined
    const what = plainAddress(host) === undefined ? `${host} resolves to ${plain}` : plain
    const entry = ALLOWED_BY_NAME.has(kind) ? host.replace(/^\[(.*)\]$/, '$1') : plain
    return `${what}${plainAddress(host) === undefined ? ',' : ' is'} a ${kind} address; to allow it, add "allowPrivate": ["${entry}"]`
  }

  return {
    refusal,
    refusalOf(host) {
      if (plainAddress(host) !== undefined) return refusal(host, host)
      if (!isNamed(host, 'localhost') && !isNamed(host, '*.localhost')) return undefined
      return refusal(host, '::1') && refusal(host, '127.0.0.1')
    },
  }
}

function isNamed(host: string, name: string): boolean {
  const plain = host.toLowerCase().replace(/\.$/, '')
  return name.startsWith('*.') ? plain.endsWith(name.slice(1)) : plain === name
}
