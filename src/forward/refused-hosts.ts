import { plainAddress } from '../http/address-kinds.ts'
import { addressPolicy } from '../http/address-policy.ts'
import { permittedAddresses, type Resolve } from '../http/guarded-lookup.ts'
import { HookonceError } from '../model/errors.ts'
import type { Destination } from './destination.ts'

export interface RefusedHost {
  /** The name of the destination. */
  readonly name: string
  readonly refusal: string
}

/**
 * The reason why no request to this destination can succeed, judged by its URL without a lookup.
 */
export function refusedAddress({ name, url, allowPrivate = [] }: RefusableDestination): string | undefined {
  const refusal = addressPolicy(allowPrivate).refusalOf(new URL(url).hostname)
  return refusal && `${refusal} to destinations.${name}`
}

type RefusableDestination = Pick<Destination, 'name' | 'url' | 'allowPrivate'>

/** The destinations whose host name currently resolves to refused addresses only. */
export async function refusedHosts(
  destinations: readonly Destination[],
  resolve: Resolve,
): Promise<RefusedHost[]> {
  const looks = destinations.map(async ({ name, url, allowPrivate = [] }) => {
    const host = new URL(url).hostname
    if (plainAddress(host) !== undefined) return []
    try {
      await permittedAddresses(host, { policy: addressPolicy(allowPrivate), resolve })
    } catch (error) {
      if (error instanceof HookonceError) return [{ name, refusal: error.message }]
      // The name cannot be resolved now. It may resolve later, and each attempt checks again.
    }
    return []
  })
  return (await Promise.all(looks)).flat()
}
