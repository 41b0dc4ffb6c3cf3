import { errorCatalogue, HookonceError } from '../model/errors.ts'
import { Deferred, Permanent } from '../model/handler-errors.ts'
import { Drain } from '../work/interruption.ts'
import type { Run } from './run.ts'
import type { SettledRun } from './settle/settle-run.ts'

/**
 * The health of the service that a handler calls, judged by the end of a run. `unclear`: the run
 * ended for other reasons.
 */
export type Health = 'up' | 'down' | 'unclear'

export function healthOf({ interruption }: Run, { outcome, commit }: SettledRun): Health {
  if (outcome.isSuccess) return 'up'
  if (commit.kind !== 'committed' || outcome.isSettled || interruption.reason instanceof Drain)
    return 'unclear'
  const { error } = outcome
  if (error instanceof Permanent) return 'up'
  if (error instanceof Deferred || isOurs(error)) return 'unclear'
  return 'down'
}

/** A fault of the program or of the ledger, which neither retries nor probes can repair. */
function isOurs(error: unknown): boolean {
  if (!(error instanceof HookonceError)) return false
  return !errorCatalogue[error.code].retryable || error.code === 'LEASE_LOST' || error.code === 'LEDGER_DOWN'
}
