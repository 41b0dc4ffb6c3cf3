/*
 * The record that a store keeps for one key.
 *
 *   absent ──acquire──▶ locked ──┬──▶ completed   the result is stored and replayed
 *     ▲                  │  ▲    ├──▶ released    no effect: the next request may run
 *     │                  │  │    └──▶ unknown     there may have been an effect: no request may run
 *     │      lock expires│  │             └──▶ completed | released, once the outcome is known
 *     │                  └──┴─ taken over (fence + 1), or unknown, by the crash policy
 *     └── after expiresAt, from every state, immediately, whether or not the store has swept it
 *
 * Times are milliseconds since 1970 by the store's clock, so the clocks of its clients need not
 * agree.
 */

export const keyStates = ['locked', 'completed', 'released', 'unknown'] as const
export type KeyState = (typeof keyStates)[number]

export interface KeyRecord {
  readonly state: KeyState
  /**
   * Raised by every acquire. Every later write carries it, and a write with a stale fence changes
   * nothing.
   */
  readonly fence: number
  /** A hash of the request. The same key with a different fingerprint is rejected. */
  readonly fingerprint: string
  /**
   * The last run to acquire the key. Unique per run, so that an acquire can be retried if its
   * response was lost.
   */
  readonly holder: string
  /** What preceded this acquire. `crash` means that the previous lock expired. */
  readonly after: 'nothing' | 'release' | 'crash'
  readonly lockedAt: number
  /** When the last lock expires. Meaningful only in state `locked`. */
  readonly lockUntil: number
  readonly expiresAt: number
  /** The stored result. Present only in state `completed`. */
  readonly result: Uint8Array | undefined
}
