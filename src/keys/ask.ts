import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { AcquireRequest, Settlement } from './decide.ts'
import type { KeyRecord } from './record.ts'
import type { Acquired, KeyId, KeyStore } from './store.ts'

/*
 * Calls a store with a time limit and retries failed calls. Every verb is safe to retry: a store
 * recognises a repeated acquire by its holder and a repeated settle by its fence.
 */

/**
 * A broken connection is usually replaced at once, and a restarting server is back within a second.
 */
const PAUSES_MS = [50, 400]

/** Throws KEY_STORE_DOWN if the store does not answer. */
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

/**
 * Handles an acquire that succeeded after its timeout. Nothing ran, so the key is released for the
 * next request.
 */
function abandon(store: KeyStore, id: KeyId, { outcome, record }: Acquired, ttlMs: number): void {
  // After a crash the lock must expire again. Releasing it would claim that the crashed run had no
  // effect.
  if (outcome !== 'acquired' || record.after === 'crash') return
  // If the release fails, the lock expires by itself.
  store.settle(id, record.fence, { to: 'released', ttlMs }).catch(() => undefined)
}

/**
 * Settles the record. If the store reports a stale fence, also returns the current record. Throws
 * what the store throws.
 */
export async function askToSettle(
  store: KeyStore,
  id: KeyId,
  fence: number,
  { settlement, timeoutMs }: { settlement: Settlement; timeoutMs: number },
): Promise<{ readonly settled: boolean; readonly instead: KeyRecord | undefined }> {
  const settled = await again(timeoutMs, () => within(timeoutMs, store.settle(id, fence, settlement)))
  if (settled) return { settled, instead: undefined }
  const instead = await askToRead(store, id, timeoutMs)
  // The first of two attempts may have succeeded although its response was lost.
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
  // A configuration error is not retried: waiting does not fix it.
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
