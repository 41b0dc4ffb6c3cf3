import { INTERRUPTED } from './exit-codes.ts'
import { progress, type Step } from './progress.ts'

/** Lets long work report its progress and notice a request to stop. */
export interface Watch {
  readonly signal: AbortSignal
  readonly onProgress: (step: Omit<Step, 'noun'>) => void
}

export interface Worked<Result> {
  readonly result: Result
  /** Whether a stop was requested. The result is then the work done so far. */
  readonly wasInterrupted: boolean
}

/**
 * Runs long work with a bar on standard error. Ctrl-C and SIGTERM stop it, and the exit code is
 * then 130. A second signal ends the process at once.
 */
export async function longWork<Result>(
  noun: string,
  work: (watch: Watch) => Promise<Result>,
): Promise<Worked<Result>> {
  const bar = progress(process.stderr)
  const stop = stopOnSignal(() => {
    bar.end()
    process.stderr.write('stopping after the current step; Ctrl-C again stops at once\n')
  })
  try {
    const result = await work({
      signal: stop.signal,
      onProgress: (step) => {
        if (!stop.signal.aborted) bar.show({ ...step, noun })
      },
    })
    return { result, wasInterrupted: stop.signal.aborted }
  } finally {
    bar.end()
    stop.release()
    if (stop.signal.aborted) process.exitCode = INTERRUPTED
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function stopOnSignal(onStop: () => void): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(INTERRUPTED)
    controller.abort()
    onStop()
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  return {
    signal: controller.signal,
    release() {
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}
