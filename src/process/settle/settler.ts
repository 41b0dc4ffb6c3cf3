import type { Pool } from 'pg'
import { type HandedOver, hasHandedOver } from '../../effects/hand-over.ts'
import { type Settlement, settleJobs } from '../../ledger/jobs/settle.ts'
import type { Observer } from '../../observe/observer.ts'
import { type GroupCommit, groupCommit } from '../../work/group-commit.ts'
import { persistently } from '../../work/persistently.ts'
import { type CommitOutcome, type WrittenJob, writeCommitter } from './commit-writes.ts'

/** The outcome of a run, and the hand-over to be committed with it. */
export interface Ending {
  readonly settlement: Settlement
  readonly handedOver: HandedOver
}

/** The number of outcomes per statement. More would only make its locks last longer. */
const MAX_BATCH = 500
/**
 * The number of parallel commits of single jobs, so that a write that runs into its timeout does
 * not block the others.
 */
const ALONE_IN_FLIGHT = 3

export interface SettlerOptions {
  readonly pool: Pool
  /** Connections for the writes of handlers. */
  readonly writes: Pool
  readonly observer: Observer
  /**
   * Stops retrying: the ledger is down and the process is stopping. Leases then expire without
   * further action.
   */
  readonly signal: AbortSignal
}

/**
 * Settles runs in group commits. While the ledger is down, it keeps the outcomes and retries. If a
 * settlement was committed and its reply was lost, the second try changes nothing.
 */
export function settler({
  pool,
  writes,
  observer,
  signal,
}: SettlerOptions): GroupCommit<Ending, CommitOutcome> {
  // Two in flight: the second is sent while the first waits for the disk.
  const plain = groupCommit(
    keepTrying(async (endings) => {
      const areOurs = await settleJobs(
        pool,
        endings.map(({ settlement }) => settlement),
      )
      return areOurs.map((isOurs): CommitOutcome => ({ kind: isOurs ? 'committed' : 'lost' }))
    }),
    { maxItems: MAX_BATCH, maxInFlight: 2 },
  )
  const committer = writeCommitter({ writes, pool })
  // One at a time: two transactions could lock the same business rows, and wait for each other.
  const together = groupCommit(
    keepTrying((endings) => committer.together(endings.map(writtenJob))),
    { maxItems: MAX_BATCH },
  )
  // Commits jobs alone that failed in a batch, or would block it.
  const alone = groupCommit(
    keepTrying((endings) => Promise.all(endings.map((ending) => committer.alone(writtenJob(ending))))),
    { maxItems: 1, maxInFlight: ALONE_IN_FLIGHT },
  )

  async function commitWritten(ending: Ending): Promise<CommitOutcome> {
    const outcome = await together.add(ending)
    return outcome.kind === 'alone' ? alone.add(ending) : outcome
  }

  function keepTrying<Outcome>(
    settle: (endings: readonly Ending[]) => Promise<Outcome[]>,
  ): (endings: readonly Ending[]) => Promise<(Outcome | { readonly kind: 'lost' })[]> {
    return async (endings) => {
      const doing = `settling ${endings.length} jobs`
      const outcomes = await persistently(() => settle(endings), { doing, observer, signal })
      return outcomes ?? endings.map(() => ({ kind: 'lost' }))
    }
  }

  return {
    add: (ending) => (hasHandedOver(ending.handedOver) ? commitWritten(ending) : plain.add(ending)),
    get waiting() {
      return plain.waiting + together.waiting + alone.waiting
    },
    async idle() {
      await Promise.all([plain.idle(), together.idle()])
      // Jobs may have moved from `together` to `alone`.
      await alone.idle()
    },
  }
}

function writtenJob({ settlement, handedOver: { writes, messages } }: Ending): WrittenJob {
  return { job: settlement, steps: settlement.steps, writes, messages }
}
