import { findProvider, providerIds } from '../catalogue/index.ts'
import type { Delivery } from '../contract.ts'
import type { ProviderDescription } from '../description.ts'

/** General-purpose headers, which do not identify a sender. */
const COMMON = new Set(['authorization', 'content-type', 'date', 'digest', 'host', 'user-agent'])

/**
 * If more providers match, the header belongs to a common library, and listing all of them would
 * not help.
 */
const MAX_NAMED = 3

interface ProviderHeaders {
  readonly id: string
  readonly headers: readonly string[]
}

let known: Promise<readonly ProviderHeaders[]> | undefined

/**
 * Guesses the sender from the headers of signatures and keys: `x-github-delivery is present: it
 * looks like github`.
 */
export async function looksLike(delivery: Delivery, except: string): Promise<string | undefined> {
  // Loads the whole catalogue, once, when a delivery without a signature arrives.
  known ??= Promise.all(providerIds.map(providerHeaders))
  const found = (await known)
    .filter(({ id }) => id !== except)
    .map(({ id, headers }) => ({
      id,
      present: headers.filter((name) => delivery.header(name) !== undefined),
    }))
    .sort((one, other) => other.present.length - one.present.length)
  const most = found[0]?.present.length ?? 0
  if (most === 0) return undefined
  const alike = found.filter(({ present }) => present.length === most)
  const named = alike.slice(0, MAX_NAMED).map(({ id }) => id)
  const more = alike.length - named.length
  const headers = found[0]?.present ?? []
  const isOrAre = headers.length === 1 ? 'is' : 'are'
  const others = more > 0 ? ` or one of ${more} others` : ''
  return `${headers.join(', ')} ${isOrAre} present: it looks like ${named.join(' or ')}${others}`
}

async function providerHeaders(id: string): Promise<ProviderHeaders> {
  const description = (await findProvider(id))?.description
  const headers = (description ? headersOf(description) : []).map((name) => name.toLowerCase())
  return { id, headers: [...new Set(headers)].filter((name) => !COMMON.has(name)) }
}

function headersOf({ signature, event }: ProviderDescription): string[] {
  const places = [event.key, event.type].flat().filter((place) => typeof place === 'string')
  return [
    ...('header' in signature ? [signature.header ?? []].flat() : []),
    ...places.filter((place) => place.startsWith('header:')).map((place) => place.slice('header:'.length)),
  ]
}
