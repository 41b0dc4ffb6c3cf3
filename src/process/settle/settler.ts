import type { Pool } from 'pg'
import { type HandedOver, hasHandedOver } from '../../effects/hand-over.ts'
import { type Settlement, settleJobs } from '../../ledger/jobs/settle.ts'
import type { Observer } from '../../observe/observer.ts'
import { type GroupCommit, groupCommit } from '../../work/group-commit.ts'
import { persistently } from '../../work/persistently.ts'
import { type CommitOutcome, type WrittenJob, writeCommitter } from './commit-writes.ts'

/** The outcome of a run, and the hand-over to be committed with it. */
export interface RunCommit {
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
}: SettlerOptions): GroupCommit<RunCommit, CommitOutcome> {
  // Two in flight: the second is sent while the first waits for the disk.
  const plain = groupCommit(
    keepTrying(async (commits) => {
      const areOurs = await settleJobs(
        pool,
        commits.map(({ settlement }) => settlement),
      )
      return areOurs.map((isOurs): CommitOutcome => ({ kind: isOurs ? 'committed' : 'lost' }))
    }),
    { maxItems: MAX_BATCH, maxInFlight: 2 },
  )
  const committer = writeCommitter({ writes, pool })
  // One at a time: two transactions could lock the same business rows, and wait for each other.
  const together = groupCommit(
    keepTrying((commits) => committer.together(commits.map(writtenJob))),
    { maxItems: MAX_BATCH },
  )
  // Commits jobs alone that failed in a batch, or would block it.
  const alone = groupCommit(
    keepTrying((commits) => Promise.all(commits.map((commit) => committer.alone(writtenJob(commit))))),
    { maxItems: 1, maxInFlight: ALONE_IN_FLIGHT },
  )

  async function commitWritten(commit: RunCommit): Promise<CommitOutcome> {
    const outcome = await together.add(commit)
    return outcome.kind === 'alone' ? alone.add(commit) : outcome
  }

  function keepTrying<Outcome>(
    settle: (commits: readonly RunCommit[]) => Promise<Outcome[]>,
  ): (commits: readonly RunCommit[]) => Promise<(Outcome | { readonly kind: 'lost' })[]> {
    return async (commits) => {
      const doing = `settling ${commits.length} jobs`
      const outcomes = await persistently(() => settle(commits), { doing, observer, signal })
      return outcomes ?? commits.map(() => ({ kind: 'lost' }))
    }
  }

  return {
    add: (commit) => (hasHandedOver(commit.handedOver) ? commitWritten(commit) : plain.add(commit)),
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

function writtenJob({ settlement, handedOver: { writes, messages } }: RunCommit): WrittenJob {
  return { job: settlement, steps: settlement.steps, writes, messages }
}
