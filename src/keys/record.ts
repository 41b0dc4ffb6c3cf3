/*
 * What a store keeps of one key.
 *
 *   absent ──acquire──▶ locked ──┬──▶ completed   the result is kept and replayed
 *     ▲                  │  ▲    ├──▶ released    nothing happened: the next one may run
 *     │                  │  │    └──▶ unknown     something may have happened: nobody may run
 *     │         lock ran out│             └──▶ completed | released, when the truth is found out
 *     │                  └──┴─ taken over (fence + 1), or unknown, by the crash policy
 *     └── past expiresAt, from every state, at that moment, whether or not the store has swept it
 *
 * Times are milliseconds since 1970 by the clock of the store, so that the clocks of its clients need not agree.
 */

export const keyStates = ['locked', 'completed', 'released', 'unknown'] as const
export type KeyState = (typeof keyStates)[number]

export interface KeyRecord {
  readonly state: KeyState
  /** Raised at every acquisition; every later write carries it, and a stale one changes nothing. */
  readonly fence: number
  /** What was asked for with this key, as a hash. The same key with another one is refused. */
  readonly fingerprint: string
  /** Who acquired it last: unique for each run, so that an acquisition whose reply was lost can be asked for again. */
  readonly holder: string
  /** What that acquisition followed: a crash is a lock that ran out. */
  readonly after: 'nothing' | 'release' | 'crash'
  readonly lockedAt: number
  /** Of the last lock; says something only while the state is locked. */
  readonly lockUntil: number
  readonly expiresAt: number
  /** What the first run left for the others. Only when completed. */
  readonly result: Uint8Array | undefined
}
