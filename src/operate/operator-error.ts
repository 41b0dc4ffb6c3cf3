import { isOutage } from '../ledger/driver/outage.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import { HookonceError } from '../model/errors.ts'

/** The server cancelled a statement that exceeded the time limit for operators. */
const CANCELLED = '57014'

/**
 * Messages of driver errors without a code. The pool was closed, because this process stops or its
 * configuration was replaced; or a connection was lost, or could not be opened in time.
 */
const NO_CONNECTION = /^(Cannot use a pool after calling end|Connection terminated)/
/** All connections of the pool stayed in use. The server may work. */
const POOL_BUSY = /^timeout exceeded when trying to connect/

/** Translates an error for an operator. Returns unexpected errors unchanged. */
export function operatorError(error: unknown): unknown {
  if (error instanceof HookonceError) return error
  if (sqlStateOf(error) === CANCELLED)
    return new HookonceError('QUERY_TIMEOUT', 'the statement took too long and was cancelled', {
      cause: error,
    })
  if (error instanceof Error && POOL_BUSY.test(error.message))
    return new HookonceError('OVERLOADED', 'all connections for operators are in use', { cause: error })
  const hasCode = sqlStateOf(error) !== ''
  if (isOutage(error) && (hasCode || (error instanceof Error && NO_CONNECTION.test(error.message))))
    return new HookonceError('LEDGER_DOWN', 'the ledger cannot be reached', { cause: error })
  return error
}
