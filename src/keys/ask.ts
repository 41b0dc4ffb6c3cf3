import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { AcquireRequest, Settlement } from './decide.ts'
import type { KeyRecord } from './record.ts'
import type { Acquired, KeyId, KeyStore } from './store.ts'

/*
 * How a store is asked: every call has a time limit, and one that fails is asked again, because every verb can be:
 * an acquisition is recognised by its holder, a settlement by its fence.
 */

/** A connection that broke is there again at once; a server that restarts, within a second. */
const PAUSES_MS = [50, 400]

/** Throws KEY_STORE_DOWN when no answer could be had. */
export async function askToAcquire(
  store: KeyStore,
  id: KeyId,
  request: AcquireRequest,
  timeoutMs: number,
): Promise<Acquired> {
  return again(timeoutMs, () => {
    const acquiring = store.acquire(id, request)
    return within(timeoutMs, acquiring, (late) => abandon(store, id, late, request.ttlMs))
  })
}

/** An acquisition that came when nobody waited for it any more: nothing ran, so the next one need not wait either. */
function abandon(store: KeyStore, id: KeyId, { outcome, record }: Acquired, ttlMs: number): void {
  // After a crash the lock must run out again: releasing would say that the crashed run left nothing behind.
  if (outcome !== 'acquired' || record.after === 'crash') return
  // Where this fails too, the lock runs out by itself.
  store.settle(id, record.fence, { to: 'released', ttlMs }).catch(() => undefined)
}

/** True, or the record that stands instead. Throws what the store throws. */
export async function askToSettle(
  store: KeyStore,
  id: KeyId,
  fence: number,
  { settlement, timeoutMs }: { settlement: Settlement; timeoutMs: number },
): Promise<{ readonly settled: boolean; readonly instead: KeyRecord | undefined }> {
  const settled = await again(timeoutMs, () => within(timeoutMs, store.settle(id, fence, settlement)))
  if (settled) return { settled, instead: undefined }
  const instead = await askToRead(store, id, timeoutMs)
  // The first of two askings may have been heard, and only its reply lost.
  return { settled: instead?.fence === fence && instead.state === settlement.to, instead }
}

export function askToRead(store: KeyStore, id: KeyId, timeoutMs: number): Promise<KeyRecord | undefined> {
  return again(timeoutMs, () => within(timeoutMs, store.read(id)))
}

async function again<Answer>(timeoutMs: number, ask: () => Promise<Answer>): Promise<Answer> {
  const end = performance.now() + timeoutMs
  for (const pauseMs of PAUSES_MS) {
    try {
      return await ask()
    } catch (error) {
      if (performance.now() + pauseMs > end) throw storeDown(error)
      await delay(pauseMs)
    }
  }
  try {
    return await ask()
  } catch (error) {
    throw storeDown(error)
  }
}

function storeDown(error: unknown): HookonceError {
  // A mistake of the configuration is not mended by waiting.
  if (error instanceof HookonceError && error.code !== 'KEY_STORE_DOWN') return error
  return new HookonceError('KEY_STORE_DOWN', `the key store did not answer: ${textOfThrown(error)}`, {
    cause: error,
  })
}

function within<Answer>(
  timeoutMs: number,
  asking: Promise<Answer>,
  onLate?: (answer: Answer) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new HookonceError('KEY_STORE_DOWN', `the key store did not answer within ${timeoutMs} ms`))
    }, timeoutMs)
    asking.then(
      (answer) => {
        clearTimeout(timer)
        if (late) onLate?.(answer)
        else resolve(answer)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
