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
  async function commit(batch: readonly Ending[]): Promise<WriteOutcome[]> {
    const plain = batch.filter((ending) => !hasWritten(ending))
    const written = batch.filter(hasWritten)
    const [settled, committed] = await Promise.all([
      keepTrying(plain, async () => {
        const took = await settleJobs(
          pool,
          plain.map(({ settlement }) => settlement),
        )
        return took.map((isOurs) => ({ kind: isOurs ? 'committed' : 'lost' }))
      }),
      keepTrying(written, () =>
        commitWrites(
          pool,
          written.map(({ settlement, ...handedOver }) => ({ job: settlement, ...handedOver })),
        ),
      ),
    ])
    const outcomes = new Map([...pairs(plain, settled), ...pairs(written, committed)])
    return batch.map((ending) => outcomes.get(ending) ?? { kind: 'lost' })
  }

  async function keepTrying(
    endings: readonly Ending[],
    settle: () => Promise<WriteOutcome[]>,
  ): Promise<WriteOutcome[]> {
    if (endings.length === 0) return []
    const doing = `settling ${endings.length} jobs`
    return (await persistently(settle, { doing, observer, signal })) ?? []
  }

  return groupCommit(commit, { maxItems: MAX_BATCH })
}

/** Whether something is to be committed beyond that it ended. */
export function hasWritten({ writes, messages }: Ending): boolean {
  return writes.length > 0 || messages.length > 0
}

function pairs(endings: readonly Ending[], outcomes: readonly WriteOutcome[]): [Ending, WriteOutcome][] {
  return endings.map((ending, index) => [ending, outcomes[index] ?? { kind: 'lost' }])
}
