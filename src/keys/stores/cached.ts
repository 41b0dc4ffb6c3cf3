import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS } from '../../model/durations.ts'
import type { KeyRecord } from '../record.ts'
import type { Acquired, KeyId, KeyStore } from '../store.ts'
import { layerOver } from './layer.ts'

const MIB = 1024 * 1024

const optionsSchema = strict({
  maxBytes: z
    .int()
    .positive()
    .default(16 * MIB),
  /**
   * After a record is deleted by hand, other processes may serve it from their caches for this
   * long.
   */
  maxAgeMs: z.int().positive().default(MINUTE_MS),
})

export type CachedKeysOptions = z.input<typeof optionsSchema>

/**
 * Wraps a store and caches completed records in this process, so that their replays need no store
 * call. Only completed records are cached, because they do not change until they expire. A cached
 * record is returned only if its fingerprint matches.
 */
export function cachedKeys<Store extends KeyStore>(store: Store, options: CachedKeysOptions = {}): Store {
  const { maxBytes, maxAgeMs } = check(optionsSchema, options, 'cachedKeys()')
  const cache = new Map<KeyId, { record: KeyRecord; until: number; bytes: number }>()
  let cachedBytes = 0

  function forget(id: KeyId): void {
    cachedBytes -= cache.get(id)?.bytes ?? 0
    cache.delete(id)
  }
  /**
   * Evicts many entries at once: finding the oldest key of a Map skips every slot deleted before
   * it.
   */
  function makeRoom(): void {
    for (const oldest of cache.keys()) {
      if (cachedBytes <= maxBytes * EVICT_TO) break
      forget(oldest)
    }
  }
  function remember(id: KeyId, { record, now }: Acquired, askedAt: number): void {
    forget(id)
    const bytes = OVERHEAD_BYTES + (record.result?.length ?? 0)
    // Monotonic time from before the call, because the record's own times are on the store's clock.
    const until = askedAt + Math.min(record.expiresAt - now, maxAgeMs)
    cache.set(id, { record, until, bytes })
    cachedBytes += bytes
    if (cachedBytes > maxBytes) makeRoom()
  }

  return layerOver(store, {
    async acquire(id, request) {
      const known = cache.get(id)
      if (known && known.until <= performance.now()) forget(id)
      else if (known?.record.fingerprint === request.fingerprint)
        return { outcome: 'completed', record: known.record, now: known.record.lockedAt }
      const askedAt = performance.now()
      const acquired = await store.acquire(id, request)
      if (acquired.outcome === 'completed') remember(id, acquired, askedAt)
      return acquired
    },
    async close() {
      cache.clear()
      cachedBytes = 0
      await store.close()
    },
  })
}

/** Evict down to this fraction of `maxBytes`. */
const EVICT_TO = 15 / 16
/** Approximate size of a record without its result. */
const OVERHEAD_BYTES = 512
