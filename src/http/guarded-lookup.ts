import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { HookonceError } from '../model/errors.ts'
import type { AddressPolicy } from './address-policy.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** All addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>

/**
 * Resolves names like the system does. Concurrent lookups of one host share one lookup: a name
 * server that hangs occupies one thread of Node's pool, for any number of connections.
 */
export function systemResolver(): Resolve {
  const pending = new Map<string, Promise<readonly ResolvedAddress[]>>()
  return (host) => {
    const found = pending.get(host)
    if (found) return found
    const lookup = systemLookup(host, { all: true }).finally(() => pending.delete(host))
    pending.set(host, lookup)
    return lookup
  }
}

/**
 * The `lookup` of a connection. It returns only addresses that the policy permits; Node connects to
 * one of them without another lookup. Node does not call it for a host that is itself an address.
 */
export function guardedLookup(policy: AddressPolicy, resolve: Resolve): LookupFunction {
  return (host, { all, family }, callback) => {
    permittedAddresses(host, { policy, resolve }).then(
      (found) => {
        const wanted = found.filter(
          (one) => !family || one.family === family || family === `IPv${one.family}`,
        )
        const [first] = wanted
        if (!first) return callback(noAddress(host), '', 0)
        if (all) callback(null, [...wanted])
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, '', 0),
    )
  }
}

/** Throws ADDRESS_REFUSED if the policy permits no address. */
export async function permittedAddresses(
  host: string,
  { policy, resolve }: { readonly policy: AddressPolicy; readonly resolve: Resolve },
): Promise<readonly ResolvedAddress[]> {
  const found = await resolve(host)
  const refusals: string[] = []
  const permitted = found.filter(({ address }) => {
    const refusal = policy.refusal(host, address)
    if (refusal !== undefined) refusals.push(refusal)
    return refusal === undefined
  })
  const [refusal] = refusals
  if (permitted.length === 0 && refusal !== undefined) throw new HookonceError('ADDRESS_REFUSED', refusal)
  return permitted
}

function noAddress(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
}
