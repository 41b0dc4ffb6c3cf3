import type { KeyObject } from 'node:crypto'
import type { Refusal } from '../contract.ts'
import { BadStatus } from './fetch-text.ts'
import { refuse } from './refuse.ts'

/**
 * Keys that are fetched one by one. Each delivery names its key by an address or an id, which the
 * caller has checked.
 */
export interface RemoteKeys {
  get(name: string): KeyObject | undefined
  /** Fetches the key. Returns undefined if the key is already cached. */
  need(name: string, nowMs: number): Promise<Refusal | undefined> | undefined
}

// Certificates live for years. A day limits how long a withdrawn certificate is still trusted.
const FRESH_MS = 24 * 3_600_000
// A provider uses two or three keys at a time.
const MAX_KEYS = 16
// Limits the cost of a request whose signature is not checked yet. All new names together share
// this many fetches per minute, and so do all repeated names. A sender retries under one name;
// strangers invent new names.
const FETCHES_PER_MINUTE = 12
const MINUTE_MS = 60_000
// A name that the provider does not know is probably invented, so the pause is long. After other
// failures, or for a known name, it is short: soon enough to recover, rare enough to spare a
// struggling server.
const UNKNOWN_MS = 60_000
const RETRY_MS = 5_000
// Limits the memory for invented names: about 300 characters each, 1.2 MB in total.
const MAX_NAMES = 4_096

/**
 * `read` fetches and checks one key, and throws if that fails. `keyNames` are configured. They are
 * always fetched, like names that returned a key before, even if strangers invent many names.
 */
export function remoteKeys(
  read: (name: string, nowMs: number) => Promise<KeyObject>,
  keyNames: readonly string[],
): RemoteKeys {
  const keys = new Map<string, { readonly key: KeyObject; readonly freshUntilMs: number }>()
  const pendingReads = new Map<string, Promise<Refusal | undefined>>()
  const configured = new Set(keyNames)
  const known = new Map<string, true>()
  const failed = new Map<string, number>()
  const refusedNames = new Map<string, true>()
  const mayFetchNew = budget()
  const mayFetchAgain = budget()

  function mayFetch(name: string, nowMs: number): boolean {
    if (configured.has(name) || known.has(name)) return true
    if (refusedNames.has(name) ? mayFetchAgain(nowMs) : mayFetchNew(nowMs)) return true
    put(refusedNames, name, true, MAX_NAMES)
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
      const isUnknownName = !isKnown && error instanceof BadStatus && error.isFinal
      put(failed, name, nowMs + (isUnknownName ? UNKNOWN_MS : RETRY_MS), MAX_NAMES)
      return refuse(
        'KEYS_UNAVAILABLE',
        `${name.slice(0, 200)} returned no key: ${String(error).slice(0, 100)}`,
      )
    }
  }

  return {
    get: (name) => keys.get(name)?.key,
    need(name, nowMs) {
      const held = keys.get(name)
      if (held !== undefined && nowMs < held.freshUntilMs) return undefined
      const pending = pendingReads.get(name)
      if (pending) return pending
      if (nowMs < (failed.get(name) ?? 0))
        return Promise.resolve(
          refuse('KEYS_UNAVAILABLE', `${name.slice(0, 200)} returned no key a moment ago`),
        )
      if (!mayFetch(name, nowMs))
        return Promise.resolve(
          refuse(
            'KEYS_UNAVAILABLE',
            `too many unknown keys were named within a minute; if ${name.slice(0, 200)} belongs to the provider, list it in \`keyNames\``,
          ),
        )
      const fetched = fetchKey(name, nowMs).finally(() => pendingReads.delete(name))
      pendingReads.set(name, fetched)
      return fetched
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
    return fetches <= FETCHES_PER_MINUTE
  }
}

/** Adds the newest entry and drops the oldest if there are more than `max`. */
function put<Value>(map: Map<string, Value>, name: string, value: Value, max: number): void {
  map.delete(name)
  const [oldest] = map.keys()
  if (map.size >= max && oldest !== undefined) map.delete(oldest)
  map.set(name, value)
}
