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

/** Providers whose headers a delivery has. */
export interface Guess {
  /** Up to three providers: those with the most headers in this delivery. */
  readonly providers: readonly string[]
  /** The number of further providers with as many matches. */
  readonly more: number
  /** The headers that led to the guess. */
  readonly headers: readonly string[]
}

/** Guesses the sender from the headers of signatures and keys. Loads the whole catalogue, once. */
export async function guessSender(
  { header }: Pick<Delivery, 'header'>,
  except?: string,
): Promise<Guess | undefined> {
  known ??= Promise.all(providerIds.map(providerHeaders))
  const found = (await known)
    .filter(({ id }) => id !== except)
    .map(({ id, headers }) => ({ id, present: headers.filter((name) => header(name) !== undefined) }))
    .sort((one, other) => other.present.length - one.present.length)
  const [first] = found
  if (first === undefined || first.present.length === 0) return undefined
  const alike = found.filter(({ present }) => present.length === first.present.length)
  const providers = alike.slice(0, MAX_NAMED).map(({ id }) => id)
  return { providers, more: alike.length - providers.length, headers: first.present }
}

/** The guess as a sentence: `x-github-delivery is present: it looks like github`. */
export async function looksLike(delivery: Delivery, except: string): Promise<string | undefined> {
  const guess = await guessSender(delivery, except)
  if (guess === undefined) return undefined
  const { providers, more, headers } = guess
  const isOrAre = headers.length === 1 ? 'is' : 'are'
  const others = more > 0 ? ` or one of ${more} others` : ''
  return `${headers.join(', ')} ${isOrAre} present: it looks like ${providers.join(' or ')}${others}`
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
