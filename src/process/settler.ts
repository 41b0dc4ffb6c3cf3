import type { Pool } from 'pg'
import { commitWrites, type WriteOutcome } from '../effects/commit-writes.ts'
import type { CheckedWrite } from '../effects/write.ts'
import type { NewMessage } from '../ledger/outbox.ts'
import { type Settlement, settleJobs } from '../ledger/settle-jobs.ts'
import type { Observer } from '../observe/observer.ts'
import { type GroupCommit, groupCommit } from '../work/group-commit.ts'
import { persistently } from '../work/persistently.ts'

/** How a run ended, with what its handler wants written and published where it ended well. */
export interface Ending {
  readonly settlement: Settlement
  readonly writes: readonly CheckedWrite[]
  readonly messages: readonly NewMessage[]
}

/** One statement carries this many outcomes; more would only make its locks last longer. */
const MAX_BATCH = 500

export interface SettlerOptions {
  readonly pool: Pool
  readonly observer: Observer
  /** Gives up trying: the ledger is down and the process wants to end. Leases then run out by themselves. */
  readonly signal: AbortSignal
}

/**
 * Settles runs in group commits. While the ledger is down it holds on to what happened and tries again. A
 * settlement that was committed although its reply was lost finds nothing to change the second time.
 */
export function settler({ pool, observer, signal }: SettlerOptions): GroupCommit<Ending, WriteOutcome> {
  // Two may be under way: while the disk is waited for, the next is made.
  const plain = groupCommit(
    keepTrying(async (endings) => {
      const took = await settleJobs(
        pool,
        endings.map(({ settlement }) => settlement),
      )
      return took.map((isOurs) => ({ kind: isOurs ? 'committed' : 'lost' }))
    }),
    { maxItems: MAX_BATCH, maxInFlight: 2 },
  )
  // One after the other: two would meet at the same business rows, and wait for each other.
  const written = groupCommit(
    keepTrying((endings) =>
      commitWrites(
        pool,
        endings.map(({ settlement, ...handedOver }) => ({ job: settlement, ...handedOver })),
      ),
    ),
    { maxItems: MAX_BATCH },
  )

  function keepTrying(
    settle: (endings: readonly Ending[]) => Promise<WriteOutcome[]>,
  ): (endings: readonly Ending[]) => Promise<WriteOutcome[]> {
    return async (endings) => {
      const doing = `settling ${endings.length} jobs`
      const outcomes = await persistently(() => settle(endings), { doing, observer, signal })
      return outcomes ?? endings.map(() => ({ kind: 'lost' }))
    }
  }

  return {
    add: (ending) => (hasWritten(ending) ? written : plain).add(ending),
    get waiting() {
      return plain.waiting + written.waiting
    },
    async idle() {
      await Promise.all([plain.idle(), written.idle()])
    },
  }
}

/** Whether something is to be committed beyond that it ended. */
export function hasWritten({ writes, messages }: Ending): boolean {
  return writes.length > 0 || messages.length > 0
}
