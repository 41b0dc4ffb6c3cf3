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
  return new LockHeartbeat(options)
}

/** A class, because every run makes one (docs/decisions/0016). */
class LockHeartbeat implements Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #beats: NodeJS.Timeout
  // Created on first use: most handlers never use the signal, and creating it is expensive.
  #controller: AbortController | undefined
  #lost: HookonceError | undefined
  #stopped = false
  // Set at the first heartbeat: most handlers finish earlier and need no timer.
  #expiry: NodeJS.Timeout | undefined
  #latest = Number.NEGATIVE_INFINITY

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#beats = setInterval(() => void this.#beat(), options.lock.lockMs / BEATS_PER_LOCK).unref()
  }

  signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#lost) this.#controller.abort(this.#lost)
    return this.#controller.signal
  }

  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    clearInterval(this.#beats)
    clearTimeout(this.#expiry)
  }

  async #beat(): Promise<void> {
    const { store, id, fence, lock, heldSince, observe } = this.#options
    const sentAt = performance.now()
    if (this.#expiry === undefined) this.#expireFrom(heldSince)
    try {
      const held = await store.extend(id, fence, lock)
      if (this.#stopped) return
      if (held) this.#expireFrom(sentAt)
      else this.#lose()
    } catch (error) {
      if (!this.#stopped) observe({ what: 'heartbeat_failed', error })
    }
  }

  #expireFrom(renewedAt: number): void {
    // Responses may arrive out of order. An older response must not shorten the lock.
    if (renewedAt < this.#latest) return
    this.#latest = renewedAt
    clearTimeout(this.#expiry)
    const { lockMs } = this.#options.lock
    this.#expiry = setTimeout(() => this.#lose(), renewedAt + lockMs - performance.now()).unref()
  }

  #lose(): void {
    if (this.#stopped) return
    this.stop()
    const { lockMs } = this.#options.lock
    this.#lost = new HookonceError(
      'LOCK_LOST',
      `the lock was not renewed for ${lockMs} ms, or another run took it`,
    )
    this.#controller?.abort(this.#lost)
  }
}
