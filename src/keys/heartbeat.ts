import { HookonceError } from '../model/errors.ts'
import type { Observe } from './events.ts'
import type { KeyId, KeyStore } from './store.ts'

/** Extends a lock while its holder works, and signals when the lock is lost. */
export interface Heartbeat {
  /** Aborted when another run took the lock, or when the lock has expired by the local clock. */
  signal(): AbortSignal
  stop(): void
}

export interface HeartbeatOptions {
  readonly store: KeyStore
  readonly id: KeyId
  readonly fence: number
  readonly lock: { readonly lockMs: number; readonly ttlMs: number }
  /** Monotonic time, taken before the acquire was sent, so the lock cannot have begun earlier. */
  readonly heldSince: number
  readonly observe: Observe
}

/** Three heartbeats per lock, so that a single failed heartbeat does not lose it. */
const BEATS_PER_LOCK = 3

export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { store, id, fence, lock, observe } = options
  // Created on first use: most handlers never use the signal, and creating it is expensive.
  let controller: AbortController | undefined
  let lost: HookonceError | undefined
  let stopped = false
  // Set at the first heartbeat: most handlers finish earlier and need no timer.
  let expiry: NodeJS.Timeout | undefined
  const beats = setInterval(beat, lock.lockMs / BEATS_PER_LOCK).unref()

  let latest = Number.NEGATIVE_INFINITY
  function expireFrom(renewedAt: number): void {
    // Responses may arrive out of order. An older response must not shorten the lock.
    if (renewedAt < latest) return
    latest = renewedAt
    clearTimeout(expiry)
    expiry = setTimeout(lose, renewedAt + lock.lockMs - performance.now()).unref()
  }
  function lose(): void {
    if (stopped) return
    stop()
    lost = new HookonceError(
      'LOCK_LOST',
      `the lock was not renewed for ${lock.lockMs} ms, or another run took it`,
    )
    controller?.abort(lost)
  }
  async function beat(): Promise<void> {
    const sentAt = performance.now()
    if (expiry === undefined) expireFrom(options.heldSince)
    try {
      const held = await store.extend(id, fence, lock)
      if (stopped) return
      if (held) expireFrom(sentAt)
      else lose()
    } catch (error) {
      if (!stopped) observe({ what: 'heartbeat_failed', error })
    }
  }
  function stop(): void {
    stopped = true
    clearInterval(beats)
    clearTimeout(expiry)
  }
  return {
    signal() {
      controller ??= new AbortController()
      if (lost) controller.abort(lost)
      return controller.signal
    },
    stop,
  }
}
