import { isOutage } from '../ledger/driver/outage.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import { HookonceError } from '../model/errors.ts'

/** The server cancelled the statement: it took longer than operators' statements may. */
const CANCELLED = '57014'

/**
 * What the driver reports without a code: the pool was closed, because this process stops or its
 * configuration was replaced; or a connection was lost, or could not be opened in time.
 */
const NO_CONNECTION =
  /^(Cannot use a pool after calling end|Connection terminated|timeout exceeded when trying to connect)/

/** What an operator is told about an error. An error that nobody foresaw stays as it is. */
export function operatorError(error: unknown): unknown {
  if (error instanceof HookonceError) return error
  if (sqlStateOf(error) === CANCELLED)
    return new HookonceError('QUERY_TIMEOUT', 'the statement took too long and was cancelled', {
      cause: error,
    })
  const hasCode = sqlStateOf(error) !== ''
  if (isOutage(error) && (hasCode || (error instanceof Error && NO_CONNECTION.test(error.message))))
    return new HookonceError('LEDGER_DOWN', 'the ledger cannot be reached', { cause: error })
  return error
}
