import type { ChoreFact, Observer } from '../observe/observer.ts'

/** A periodic task on the ledger. Every process runs it; several may run it at the same time. */
export interface Chore {
  /** Its results and failures are reported under this name. */
  readonly name: string
  readonly everyMs: number
  /** Its timer does not keep the process alive. */
  readonly isBackground?: true
  /** Returns its results, as counts by noun. */
  run(): Promise<NonNullable<ChoreFact['result']>>
}

export interface RunningChore {
  /** Waits for a run in progress. */
  stop(): Promise<void>
}

/** Runs a chore periodically until it is stopped, and reports the result of each run. */
export function startChore({ name, everyMs, isBackground, run }: Chore, observer: Observer): RunningChore {
  let timer: NodeJS.Timeout
  let running: Promise<void> = Promise.resolve()
  let isStopped = false

  function schedule(): void {
    // With jitter, so that processes that start together do not run their chores together.
    if (isStopped) return
    timer = setTimeout(start, everyMs * (0.5 + Math.random()))
    if (isBackground) timer.unref()
  }

  function start(): void {
    running = runOnce().finally(schedule)
  }

  async function runOnce(): Promise<void> {
    const startedAt = performance.now()
    try {
      const result = await run()
      observer.chore?.({ name, durationMs: performance.now() - startedAt, result })
    } catch (error) {
      observer.chore?.({ name, durationMs: performance.now() - startedAt, error })
      observer.trouble({ doing: `upkeep: ${name}`, error })
    }
  }

  schedule()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
