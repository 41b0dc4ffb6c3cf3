import { HookonceError } from '../model/errors.ts'
import type { Observe } from './events.ts'
import type { KeyId, KeyStore } from './store.ts'

/** Keeps a lock alive while its holder works, and says when it is gone. */
export interface Heartbeat {
  /** Aborted when the lock was taken, or may have been: the local clock says that it ran out unrenewed. */
  signal(): AbortSignal
  stop(): void
}

export interface HeartbeatOptions {
  readonly store: KeyStore
  readonly id: KeyId
  readonly fence: number
  readonly lock: { readonly lockMs: number; readonly ttlMs: number }
  /** On the monotonic clock, before the acquisition was sent: the lock began later than that. */
  readonly heldSince: number
  readonly observe: Observe
}

/** Three chances to be heard before the lock runs out. */
const BEATS_PER_LOCK = 3

export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { store, id, fence, lock, observe } = options
  // Made when it is asked for: most handlers never look, and it is among the dearest things here.
  let controller: AbortController | undefined
  let lost: HookonceError | undefined
  let stopped = false
  // Set at the first beat: most handlers are done before that, and a timer for each would be for nothing.
  let expiry: NodeJS.Timeout | undefined
  const beats = setInterval(beat, lock.lockMs / BEATS_PER_LOCK).unref()

  let latest = Number.NEGATIVE_INFINITY
  function expireFrom(renewedAt: number): void {
    // Replies may overtake each other: one that was long under way says nothing of what came after it was sent.
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
