import type { KeyObject } from 'node:crypto'
import type { Refusal } from '../contract.ts'
import { BadStatus } from './fetch-text.ts'
import { refuse } from './refuse.ts'

/**
 * Keys that are fetched one by one, each by what a delivery names it: an address or an id, checked
 * before.
 */
export interface RemoteKeys {
  get(name: string): KeyObject | undefined
  /** Fetches the key; nothing is returned when it is there. */
  need(name: string, nowMs: number): Promise<Refusal | undefined> | undefined
}

// Certificates live for years. A day bounds how long one that was withdrawn is still believed.
const FRESH_MS = 24 * 3_600_000
// A provider has two or three at a time.
const MAX_KEYS = 16
// Before its signature is checked a request may only cost so much. Names that were never asked for
// share this many fetches a minute, and names that come again as many: a sender retries under one
// name, strangers invent new ones.
const FETCHES_A_MINUTE = 12
const MINUTE_MS = 60_000
// A name that the provider does not know is most likely nobody's. After other failures, and of a
// name that gave a key before: often enough to recover soon, seldom enough to spare a server that
// is in trouble.
const UNKNOWN_MS = 60_000
const RETRY_MS = 5_000
// Bounds the memory for names that strangers invent: some 300 characters each, 1.2 MB together.
const MAX_NAMES = 4_096

/**
 * `read` fetches and checks one key; it throws where that fails. `keyNames` are configured: like
 * names that gave a key before, they are fetched whatever strangers name meanwhile.
 */
export function remoteKeys(
  read: (name: string, nowMs: number) => Promise<KeyObject>,
  keyNames: readonly string[],
): RemoteKeys {
  const keys = new Map<string, { readonly key: KeyObject; readonly freshUntilMs: number }>()
  const reading = new Map<string, Promise<Refusal | undefined>>()
  const configured = new Set(keyNames)
  const known = new Map<string, true>()
  const failed = new Map<string, number>()
  const turnedAway = new Map<string, true>()
  const mayFetchNew = budget()
  const mayFetchAgain = budget()

  function mayFetch(name: string, nowMs: number): boolean {
    if (configured.has(name) || known.has(name)) return true
    if (turnedAway.has(name) ? mayFetchAgain(nowMs) : mayFetchNew(nowMs)) return true
    put(turnedAway, name, true, MAX_NAMES)
    return false
  }

  async function fetchKey(name: string, nowMs: number): Promise<Refusal | undefined> {
    try {
      const key = await read(name, nowMs)
      put(keys, name, { key, freshUntilMs: nowMs + FRESH_MS }, MAX_KEYS)
      put(known, name, true, MAX_KEYS)
      return undefined
    } catch (error) {
      keys.delete(name)
      const isKnown = configured.has(name) || known.has(name)
      const isNobodys = !isKnown && error instanceof BadStatus && error.isFinal
      put(failed, name, nowMs + (isNobodys ? UNKNOWN_MS : RETRY_MS), MAX_NAMES)
      return refuse('KEYS_UNAVAILABLE', `${name.slice(0, 200)} gave no key: ${String(error).slice(0, 100)}`)
    }
  }

  return {
    get: (name) => keys.get(name)?.key,
    need(name, nowMs) {
      const held = keys.get(name)
      if (held !== undefined && nowMs < held.freshUntilMs) return undefined
      const underway = reading.get(name)
      if (underway) return underway
      if (nowMs < (failed.get(name) ?? 0))
        return Promise.resolve(refuse('KEYS_UNAVAILABLE', `${name.slice(0, 200)} gave no key a moment ago`))
      if (!mayFetch(name, nowMs))
        return Promise.resolve(
          refuse(
            'KEYS_UNAVAILABLE',
            `too many unknown keys were named in this minute; if ${name.slice(0, 200)} is the provider's, list it in \`keyNames\``,
          ),
        )
      const fetching = fetchKey(name, nowMs).finally(() => reading.delete(name))
      reading.set(name, fetching)
      return fetching
    },
  }
}

function budget(): (nowMs: number) => boolean {
  let minuteFromMs = 0
  let fetches = 0
  return (nowMs) => {
    if (nowMs - minuteFromMs >= MINUTE_MS) {
      minuteFromMs = nowMs
      fetches = 0
    }
    fetches += 1
    return fetches <= FETCHES_A_MINUTE
  }
}

/** As the newest of at most so many: the oldest is dropped. */
function put<Value>(map: Map<string, Value>, name: string, value: Value, max: number): void {
  map.delete(name)
  const [oldest] = map.keys()
  if (map.size >= max && oldest !== undefined) map.delete(oldest)
  map.set(name, value)
}
