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
export function acquireWithRetry(
  store: KeyStore,
  id: KeyId,
  request: AcquireRequest,
  timeoutMs: number,
): Promise<Acquired> {
  return withRetry(timeoutMs, () => {
    const acquired = store.acquire(id, request)
    return withTimeout(timeoutMs, acquired, (late) => abandon(store, id, late, request.ttlMs))
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
 * KEY_STORE_DOWN if the store does not answer.
 */
export async function settleWithRetry(
  store: KeyStore,
  id: KeyId,
  fence: number,
  { settlement, timeoutMs }: { settlement: Settlement; timeoutMs: number },
): Promise<{ readonly settled: boolean; readonly current: KeyRecord | undefined }> {
  const settled = await withRetry(timeoutMs, () =>
    withTimeout(timeoutMs, store.settle(id, fence, settlement)),
  )
  if (settled) return { settled, current: undefined }
  const current = await readWithRetry(store, id, timeoutMs)
  // The first of two attempts may have succeeded although its response was lost.
  return { settled: current?.fence === fence && current.state === settlement.to, current }
}

export function readWithRetry(store: KeyStore, id: KeyId, timeoutMs: number): Promise<KeyRecord | undefined> {
  return withRetry(timeoutMs, () => withTimeout(timeoutMs, store.read(id)))
}

async function withRetry<Answer>(timeoutMs: number, call: () => Promise<Answer>): Promise<Answer> {
  const end = performance.now() + timeoutMs
  for (const pauseMs of PAUSES_MS) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() + pauseMs > end) throw storeDown(error)
      await delay(pauseMs)
    }
  }
  try {
    return await call()
  } catch (error) {
    throw storeDown(error)
  }
}

function storeDown(error: unknown): HookonceError {
  // A configuration error keeps its own code, because waiting does not fix it.
  if (error instanceof HookonceError && error.code !== 'KEY_STORE_DOWN') return error
  return new HookonceError('KEY_STORE_DOWN', `the key store did not answer: ${textOfThrown(error)}`, {
    cause: error,
  })
}

function withTimeout<Answer>(
  timeoutMs: number,
  call: Promise<Answer>,
  onLate?: (answer: Answer) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new HookonceError('KEY_STORE_DOWN', `the key store did not answer within ${timeoutMs} ms`))
    }, timeoutMs)
    call.then(
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
