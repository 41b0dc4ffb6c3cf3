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
  /** Whoever deletes a record by hand waits for this long until every process has noticed. */
  maxAgeMs: z.int().positive().default(MINUTE_MS),
})

export type CachedKeysOptions = z.input<typeof optionsSchema>

/**
 * A store whose completed records are also kept in this process, so that their replays ask nobody. Only those: they do
 * not change any more until they expire. The fingerprint is compared before anything is handed out.
 */
export function cachedKeys<Store extends KeyStore>(store: Store, options: CachedKeysOptions = {}): Store {
  const { maxBytes, maxAgeMs } = check(optionsSchema, options, 'cachedKeys()')
  const cache = new Map<KeyId, { record: KeyRecord; until: number; bytes: number }>()
  let held = 0

  function forget(id: KeyId): void {
    held -= cache.get(id)?.bytes ?? 0
    cache.delete(id)
  }
  /** For many at once: looking for the oldest steps over all the places that were left at the front. */
  function makeRoom(): void {
    for (const oldest of cache.keys()) {
      if (held <= maxBytes * LEFT) break
      forget(oldest)
    }
  }
  function remember(id: KeyId, { record, now }: Acquired, askedAt: number): void {
    forget(id)
    const bytes = OVERHEAD_BYTES + (record.result?.length ?? 0)
    // On the monotonic clock of this process, from before it was asked: the record's own times are of the clock of the store.
    const until = askedAt + Math.min(record.expiresAt - now, maxAgeMs)
    cache.set(id, { record, until, bytes })
    held += bytes
    if (held > maxBytes) makeRoom()
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
      held = 0
      await store.close()
    },
  })
}

/** Of its limit, when it was full. */
const LEFT = 15 / 16
/** About what a record weighs without its result. */
const OVERHEAD_BYTES = 512
