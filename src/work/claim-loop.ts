import type { Observer } from '../observe/observer.ts'
import type { Bell } from './bell.ts'
import type { Isolation } from './isolation.ts'

/** The conditions under which a stage claims: its lease, and the signals that wake or stop it. */
export interface ClaimTerms {
  readonly isolation: Isolation
  readonly observer: Observer
  /** Rings when another claim may succeed: a slot is free, or this process has new work. */
  readonly nudge: Bell
  readonly stopping: AbortSignal
  /** The id of the worker to lease to. Undefined while nothing may be started. */
  readonly worker: () => number | undefined
  /** The id to lease to for work that runs alone, while nothing else may be started. */
  readonly workerAlone: () => number | undefined
  /** Hands back all work that is leased to `worker`. Nothing runs now. */
  readonly returnAll: (worker: number) => Promise<void>
}

export interface ClaimLoopOptions extends Pick<ClaimTerms, 'nudge' | 'observer' | 'stopping'> {
  /** Returns the number of claimed jobs or lanes. */
  readonly claim: () => Promise<number>
  readonly doing: string
  readonly pollMs: number
}

/** Claims due work for free slots. */
export interface Claimer {
  /** Due work may be waiting in the ledger. */
  readonly backlog: boolean
  /** Forgets the known due work: the next claim queries the ledger first. */
  lookAnew(): void
  /** Resolves after `stopping`, when no claim is in progress. */
  readonly ended: Promise<void>
}

/** While the ledger is down, the pause between claims grows up to this limit. */
const LONGEST_PAUSE_MS = 5_000

/** Claims while there is due work. Searches again when the bell rings or the poll is due. */
export async function claimLoop({ claim, doing, nudge, ...options }: ClaimLoopOptions): Promise<void> {
  const { pollMs, observer, stopping } = options
  let pauseMs = pollMs
  while (!stopping.aborted) {
    nudge.reset()
    const claimed = await claim().then(
      (count) => {
        pauseMs = pollMs
        return count
      },
      (error: unknown) => {
        observer.trouble({ doing, error })
        pauseMs = Math.max(pollMs, Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
        return 0
      },
    )
    // Jitter: processes that started together must not poll together.
    if (claimed === 0) await nudge.wait(pauseMs * (0.5 + Math.random()))
  }
}
