import type { KeyObject } from 'node:crypto'
import type { Refusal } from '../contract.ts'
import { refuse } from './refuse.ts'

/** Keys that are fetched: certificates and key sets, by their address. */
export interface RemoteKeys {
  get(url: string): KeyObject | undefined
  /** Fetches the key of an address that was checked before; nothing is returned when it is there. */
  need(url: string, nowMs: number): Promise<Refusal | undefined> | undefined
}

// Certificates live for years. A day bounds how long one that was withdrawn is still believed.
const FRESH_MS = 24 * 3_600_000
// A provider has two or three at a time.
const MAX_KEYS = 16
// Before its signature is checked a request may only cost so much: what strangers name is fetched this often a minute.
const MAX_FETCHES_A_MINUTE = 12
const MINUTE_MS = 60_000

/** `read` fetches and checks one key; it throws where that fails. */
export function remoteKeys(read: (url: string, nowMs: number) => Promise<KeyObject>): RemoteKeys {
  const keys = new Map<string, { readonly key: KeyObject; readonly freshUntilMs: number }>()
  const reading = new Map<string, Promise<Refusal | undefined>>()
  let minuteFromMs = 0
  let fetches = 0

  function mayFetch(nowMs: number): boolean {
    if (nowMs - minuteFromMs >= MINUTE_MS) {
      minuteFromMs = nowMs
      fetches = 0
    }
    fetches += 1
    return fetches <= MAX_FETCHES_A_MINUTE
  }

  async function fetchKey(url: string, nowMs: number): Promise<Refusal | undefined> {
    try {
      const key = await read(url, nowMs)
      const [oldest] = keys.keys()
      if (keys.size >= MAX_KEYS && oldest !== undefined) keys.delete(oldest)
      keys.set(url, { key, freshUntilMs: nowMs + FRESH_MS })
      return undefined
    } catch (error) {
      keys.delete(url)
      return refuse('KEYS_UNAVAILABLE', `${url.slice(0, 200)} gave no key: ${String(error).slice(0, 100)}`)
    }
  }

  return {
    get: (url) => keys.get(url)?.key,
    need(url, nowMs) {
      const known = keys.get(url)
      if (known !== undefined && nowMs < known.freshUntilMs) return undefined
      const underway = reading.get(url)
      if (underway) return underway
      if (!mayFetch(nowMs))
        return Promise.resolve(refuse('KEYS_UNAVAILABLE', 'too many unknown keys were named in this minute'))
      const fetching = fetchKey(url, nowMs).finally(() => reading.delete(url))
      reading.set(url, fetching)
      return fetching
    },
  }
}
