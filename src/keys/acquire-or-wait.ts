import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { crashPolicy, type Policy } from './policy.ts'
import type { Acquired, KeyId, KeyStore } from './store.ts'
import { acquireWithRetry } from './store-calls.ts'

/** The key to acquire, and the request that needs it. */
export interface KeyClaim {
  readonly store: KeyStore
  readonly id: KeyId
  readonly fingerprint: string
  /**
   * Computes this request's fingerprint with the recipe that produced a stored fingerprint. Returns
   * undefined if that recipe is not configured.
   */
  readonly refingerprint?: (stored: string) => string | undefined
  /** The id of the request or message. Stored in the record to help people who inspect it. */
  readonly label?: string
  readonly policy: Policy
}

/** Waiters poll at growing intervals, so that many waiters on one key do not overload the store. */
const FIRST_POLL_MS = 25
const LAST_POLL_MS = 500

/**
 * Acquires the key. While another run holds it, waits for up to `waitMs`. `heldSince` is monotonic
 * time from before the acquire was sent.
 */
export async function acquireOrWait(claim: KeyClaim): Promise<{ acquired: Acquired; heldSince: number }> {
  const { store, id, policy, label } = claim
  const holder = label === undefined ? randomUUID() : `${storable(label)} ${randomUUID()}`
  const waitUntil = policy.waitMs === 'off' ? 0 : performance.now() + policy.waitMs
  const onCrash = crashPolicy(policy) === 'unknown' ? 'unknown' : 'takeover'
  const { lockMs, ttlMs, storeTimeoutMs } = policy
  let fingerprint = claim.fingerprint
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_POLL_MS)) {
    const heldSince = performance.now()
    const request = { fingerprint, holder, lockMs, ttlMs, onCrash } as const
    const acquired = await acquireWithRetry(store, id, request, storeTimeoutMs)
    if (acquired.outcome === 'mismatch' && fingerprint === claim.fingerprint) {
      // After a deploy that changes the recipe, keys stored under the old recipe must still match.
      const underOldRecipe = claim.refingerprint?.(acquired.record.fingerprint)
      if (underOldRecipe !== undefined && underOldRecipe === acquired.record.fingerprint) {
        fingerprint = underOldRecipe
        continue
      }
    }
    const leftMs = waitUntil - performance.now()
    if (acquired.outcome !== 'locked' || leftMs <= 0) return { acquired, heldSince }
    await delay(Math.min(pauseMs, leftMs))
  }
}

/** Databases reject unpaired surrogates, and some reject NUL. */
function storable(label: string): string {
  return label.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
}
