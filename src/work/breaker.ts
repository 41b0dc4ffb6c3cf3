import { HookonceError } from '../model/errors.ts'

/**
 * Protects a ledger that is down from a flood of attempts. After an attempt has met an outage, one
 * attempt at a time probes the ledger, with growing pauses, and all others are refused at once. So
 * a recovering server gets one connection from this process, not thousands.
 */
export interface Breaker {
  /** Makes an attempt, or throws LEDGER_DOWN without an attempt. */
  attempt<Result>(work: () => Promise<Result>): Promise<Result>
}

/** The first probe comes at once, because perhaps only one connection broke. */
const PAUSES_MS = [0, 100, 200, 400, 800, 1_600]
/** Less than the Retry-After of senders (5 s): a probe comes before the next wave of retries. */
const LONGEST_PAUSE_MS = 2_000

export function breaker(isOutage: (error: unknown) => boolean, random: () => number = Math.random): Breaker {
  /** The number of attempts in a row that met the outage. 0: there is no outage. */
  let failures = 0
  let retryAt = 0
  let isProbing = false

  function failed(wasProbe: boolean): void {
    // Attempts that ran in parallel with the first failure add no information.
    if (failures > 0 && !wasProbe) return
    const pauseMs = PAUSES_MS[failures] ?? LONGEST_PAUSE_MS
    failures += 1
    // Jitter: processes that lost the server together must not reconnect together.
    retryAt = performance.now() + pauseMs * (0.5 + random())
  }

  async function probe<Result>(work: () => Promise<Result>): Promise<Result> {
    isProbing = true
    try {
      const result = await work()
      failures = 0
      return result
    } catch (error) {
      if (isOutage(error)) failed(true)
      else failures = 0
      throw error
    } finally {
      isProbing = false
    }
  }

  return {
    async attempt(work) {
      if (failures > 0) {
        if (!isProbing && performance.now() >= retryAt) return probe(work)
        throw new HookonceError(
          'LEDGER_DOWN',
          'the ledger was down a moment ago, and the next probe is not due yet',
        )
      }
      return work().catch((error: unknown) => {
        if (isOutage(error)) failed(false)
        throw error
      })
    },
  }
}
