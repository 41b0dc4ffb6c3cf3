import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { Refusal } from '../contract.ts'
import type { FetchText } from './fetch-text.ts'
import { parseJsonText } from './payload.ts'
import { refuse } from './refuse.ts'

/** The keys that a provider publishes in one place (JWKS). */
export interface KeySet {
  readonly keys: readonly PublishedKey[]
  /** Fetches the keys where they are missing, a day old, or not the ones that are needed. */
  need(
    isEnough: (keys: readonly PublishedKey[]) => boolean,
    nowMs: number,
  ): Promise<Refusal | undefined> | undefined
}

export interface PublishedKey {
  readonly id: string | undefined
  readonly key: KeyObject
}

// A day bounds how long a key that was withdrawn is still believed.
const FRESH_MS = 24 * 3_600_000
// A key that is not among them may be a new one, or a stranger's invention: looked up once a minute.
const LOOK_AGAIN_MS = 60_000
// After a failure: often enough to recover soon, seldom enough to spare a server that is in trouble.
const RETRY_MS = 5_000
// A provider has two or three at a time; each may have to be tried.
const MAX_KEYS = 16

/** `url` was checked before. Without fresh keys nothing is believed. */
export function keySet(url: string, fetching: FetchText): KeySet {
  let keys: readonly PublishedKey[] = []
  let staleAtMs = 0
  let nextFetchAtMs = 0
  let underway: Promise<Refusal | undefined> | undefined

  async function fetchKeys(nowMs: number): Promise<Refusal | undefined> {
    try {
      keys = publishedKeys(await fetching(url))
      staleAtMs = nowMs + FRESH_MS
      nextFetchAtMs = nowMs + LOOK_AGAIN_MS
      return undefined
    } catch (error) {
      nextFetchAtMs = nowMs + RETRY_MS
      // What is fresh still stands: the key that was asked for may well be nobody's.
      if (nowMs < staleAtMs) return undefined
      keys = []
      return refuse('KEYS_UNAVAILABLE', `${url.slice(0, 200)} gave no keys: ${String(error).slice(0, 100)}`)
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
        return Promise.resolve(refuse('KEYS_UNAVAILABLE', 'the keys could not be had a moment ago'))
      underway ??= fetchKeys(nowMs).finally(() => {
        underway = undefined
      })
      return underway
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

/** One of a kind that we do not know does no harm to the others. */
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

/** The address of the keys of a server that the customer names. Plain http only within the machine. */
export function keySetUrl(provider: string, setting: string, base: string): string {
  const url = URL.canParse(base) ? new URL(base) : undefined
  const isLoopback =
    url?.protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url === undefined || url.search !== '' || url.hash !== '' || !(url.protocol === 'https:' || isLoopback))
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: settings.${setting} must be an https URL without a query: keys that come over plain http prove nothing`,
    )
  return `${url.href.replace(/\/+$/, '')}/.well-known/jwks.json`
}
