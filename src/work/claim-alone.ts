import type { Isolation } from './isolation.ts'
import type { Slots } from './slots.ts'

export interface AloneClaimerOptions<Key> {
  readonly slots: Slots<Key>
  readonly isolation: Isolation
  /** The id of the worker to lease to. Undefined while nothing may be started. */
  readonly workerAlone: () => number | undefined
  /** Hands back all work that is leased to `worker`. */
  readonly returnAll: (worker: number) => Promise<void>
  readonly stopping: AbortSignal
  /** Called when other work has had its turn: the next suspect may run. */
  readonly onRested?: () => void
}

/** How one stage handles its suspects: jobs, or lanes of the outbox. */
export interface SuspectClaim<Key, Suspect, Claimed> {
  /** Reserves one due suspect for this process. Undefined: there is none. */
  readonly putOff: () => Promise<Suspect | undefined>
  readonly keyOf: (suspect: Suspect) => Key
  /** Undefined: another process was faster. */
  readonly claim: (suspect: Suspect, worker: number) => Promise<Claimed | undefined>
  /** Takes over the slot, until the work has ended. */
  readonly start: (claimed: Claimed, worker: number) => Promise<void>
}

export interface AloneClaimer<Key> {
  /** Whether it is the turn of other work. */
  readonly isResting: boolean
  /** Returns the number of claimed suspects, after they have ended. */
  claim<Suspect, Claimed>(suspects: SuspectClaim<Key, Suspect, Claimed>): Promise<number>
}

/**
 * Claims a suspect that may only run while nothing else runs in this process. model/suspects.ts has
 * the rule.
 */
export function aloneClaimer<Key>(options: AloneClaimerOptions<Key>): AloneClaimer<Key> {
  const { slots, isolation, workerAlone, returnAll, stopping, onRested } = options
  let restsUntil = 0

  return {
    get isResting() {
      return performance.now() < restsUntil
    },
    async claim({ putOff, keyOf, claim, start }) {
      const suspect = await putOff()
      if (suspect === undefined) return 0
      const key = keyOf(suspect)
      const startedAt = performance.now()
      let count = 0
      await isolation.alone(async () => {
        const worker = workerAlone()
        if (worker === undefined || !slots.take(key)) return
        const claimed = await claim(suspect, worker).catch(async (error) => {
          // The suspect may be leased although the reply was lost. Hand it back before anything
          // else starts: otherwise a crash would count against it.
          await returnAll(worker)
          slots.giveBack(key, 1)
          throw error
        })
        if (claimed === undefined) return slots.giveBack(key, 1)
        count = 1
        await start(claimed, worker)
      }, stopping)
      // Other work gets as much time as it had to wait, for any number of suspects.
      const lastedMs = performance.now() - startedAt
      restsUntil = performance.now() + lastedMs
      if (onRested) setTimeout(onRested, lastedMs).unref()
      return count
    },
  }
}
