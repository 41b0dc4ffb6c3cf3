import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { Refusal } from '../contract.ts'
import type { FetchText } from './fetch-text.ts'
import { parseJsonText } from './payload.ts'
import { refuse } from './refuse.ts'

/** The keys that a provider publishes in one place (JWKS). */
export interface KeySet {
  readonly keys: readonly PublishedKey[]
  /** Fetches the keys if they are missing, a day old, or do not include the needed key. */
  need(
    isEnough: (keys: readonly PublishedKey[]) => boolean,
    nowMs: number,
  ): Promise<Refusal | undefined> | undefined
}

export interface PublishedKey {
  readonly id: string | undefined
  readonly key: KeyObject
}

// A day limits how long a withdrawn key is still trusted.
const FRESH_MS = 24 * 3_600_000
// An unknown key may be new or invented, so the set is fetched at most once a minute.
const REFETCH_MS = 60_000
// After a failure: soon enough to recover, rare enough to spare a struggling server.
const RETRY_MS = 5_000
// A provider publishes two or three keys at a time. Each may have to be tried.
const MAX_KEYS = 16

/** `url` has been checked. Without fresh keys every delivery is rejected. */
export function keySet(url: string, fetcher: FetchText): KeySet {
  let keys: readonly PublishedKey[] = []
  let staleAtMs = 0
  let nextFetchAtMs = 0
  let pendingFetch: Promise<Refusal | undefined> | undefined

  async function fetchKeys(nowMs: number): Promise<Refusal | undefined> {
    try {
      keys = publishedKeys(await fetcher(url))
      staleAtMs = nowMs + FRESH_MS
      nextFetchAtMs = nowMs + REFETCH_MS
      return undefined
    } catch (error) {
      nextFetchAtMs = nowMs + RETRY_MS
      // Fresh keys stay valid: the requested key may be invented.
      if (nowMs < staleAtMs) return undefined
      keys = []
      return refuse(
        'KEYS_UNAVAILABLE',
        `${url.slice(0, 200)} returned no keys: ${String(error).slice(0, 100)}`,
      )
    }
  }

  return {
    get keys() {
      return keys
    },
    need(isEnough, nowMs) {
      const isFresh = nowMs < staleAtMs
      if (isFresh && (isEnough(keys) || nowMs < nextFetchAtMs)) return undefined
      if (nowMs < nextFetchAtMs)
        return Promise.resolve(refuse('KEYS_UNAVAILABLE', 'the keys could not be fetched a moment ago'))
      pendingFetch ??= fetchKeys(nowMs).finally(() => {
        pendingFetch = undefined
      })
      return pendingFetch
    },
  }
}

function publishedKeys(text: string): PublishedKey[] {
  const listed = (parseJsonText(text) as { keys?: unknown } | undefined)?.keys
  if (!Array.isArray(listed)) throw new Error('not a set of keys')
  const keys = listed.slice(0, MAX_KEYS).flatMap(publishedKey)
  if (keys.length === 0) throw new Error('no public key in the set')
  return keys
}

/** A key of an unknown kind does not affect the others. */
function publishedKey(jwk: unknown): PublishedKey[] {
  if (typeof jwk !== 'object' || jwk === null) return []
  try {
    const { kid } = jwk as { kid?: unknown }
    return [{ id: typeof kid === 'string' ? kid : undefined, key: publicKeyOf(jwk as JsonWebKey) }]
  } catch {
    return []
  }
}

export function publicKeyOf(jwk: JsonWebKey): KeyObject {
  return createPublicKey({ key: jwk, format: 'jwk' })
}

/**
 * The key set address of a server named by the user. Plain http is allowed only on the loopback
 * interface.
 */
export function keySetUrl(provider: string, setting: string, base: string): string {
  const url = URL.canParse(base) ? new URL(base) : undefined
  const isLoopback =
    url?.protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url === undefined || url.search !== '' || url.hash !== '' || !(url.protocol === 'https:' || isLoopback))
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: settings.${setting} must be an https URL without a query, because keys fetched over plain http can be forged`,
    )
  return `${url.href.replace(/\/+$/, '')}/.well-known/jwks.json`
}
