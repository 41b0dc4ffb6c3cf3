import type { CircuitOptions } from '../input/limiter-options.ts'
import type { CircuitChange, CircuitState } from '../ledger/jobs/circuits.ts'

/**
 * The number of latest jobs that count. With more, a busy destination would fail thousands of times
 * before the failures outweigh the earlier successes.
 */
const MOST_SAMPLES = 100

/** The latest run of one job. */
interface Sample {
  readonly atMs: number
  readonly isFailure: boolean
}

/**
 * A circuit as this process knows it: the state that it last read or wrote in the ledger, and its
 * own latest runs. This class decides when to open; circuits.ts opens. Only the latest run of each
 * job counts: the retries of a few jobs that cannot succeed must not hold the other jobs.
 */
export class Circuit {
  readonly options: CircuitOptions
  #state: CircuitState = 'closed'
  #generation = 0
  #failedProbes = 0
  /** The latest run of each job, ordered by time, the latest last. */
  #samples = new Map<string, Sample>()

  constructor(options: CircuitOptions) {
    this.options = options
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Changes with each change of the state, in any process. */
  get generation(): number {
    return this.#generation
  }

  /** Takes over the state in the ledger. Runs before a change do not count after it. */
  learn({ state, generation, failedProbes }: CircuitChange): void {
    this.#failedProbes = failedProbes
    if (generation === this.#generation && state === this.#state) return
    this.#state = state
    this.#generation = generation
    this.#samples.clear()
  }

  /**
   * The minimum delay of a failed probe. With it, the next probe is another job, if one is due.
   * Zero while no probe runs.
   */
  get probeDelayMs(): number {
    if (this.#state !== 'half-open') return 0
    const { openMs, maxOpenMs } = this.options
    return Math.min(openMs * 2 ** (this.#failedProbes + 1), maxOpenMs)
  }

  /**
   * Counts a run of a job that began in this generation. Returns whether the circuit should open.
   */
  sample(job: string, isFailure: boolean, atMs: number = performance.now()): boolean {
    if (!this.isClosed) return false
    this.#samples.delete(job)
    this.#samples.set(job, { atMs, isFailure })
    const [oldest] = this.#samples.keys()
    if (this.#samples.size > MOST_SAMPLES && oldest !== undefined) this.#samples.delete(oldest)
    if (!isFailure) return false
    const { windowMs, minSamples, failureRate } = this.options
    const recent = [...this.#samples.values()].filter((sample) => sample.atMs > atMs - windowMs)
    const failures = recent.filter((sample) => sample.isFailure).length
    return recent.length >= minSamples && failures >= failureRate * recent.length
  }
}
