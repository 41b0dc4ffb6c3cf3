import pg, { type Pool } from 'pg'
import { endSilent, SilentServer } from '../../ledger/driver/silent-server.ts'
import { HookonceError } from '../../model/errors.ts'

/*
 * Who is to blame when a transaction of writes fails. Only an outage of the ledger is retried
 * forever. A misjudged statement would be retried just as long, and would block the writes of all
 * other jobs.
 */

export type Fault =
  /** The ledger does not answer: nobody's fault, try again. */
  | { readonly of: 'ledger' }
  /**
   * The connection broke, and others do not: an administrator may have ended it, or one of the
   * statements.
   */
  | { readonly of: 'connection' }
  | {
      readonly of: 'statement'
      /**
       * It may take long to fail, or fail for want of what all share: it must not share a
       * transaction again.
       */
      readonly isHarmful: boolean
      /**
       * What the server was busy with, or the beginning of it, where the server did not report an
       * error by itself.
       */
      readonly busyWith?: string | undefined
    }

/**
 * Connection failure, too few resources, intervention of an operator, system error. One statement
 * can cause each.
 */
const LIKE_AN_OUTAGE = /^(08|53|57|58)/
/**
 * Shutdown and crash of the server, a dropped database, a session that was ended for being idle,
 * and a session that has lost its prepared statements.
 */
const ENDS_CONNECTION = /^(57P0[1-5]|25P03|26000)$/
/** Too few values, or too many: of a statement, whatever its class. */
const WRONG_VALUES = '08P01'
/** A statement or a lock was waited for until its timeout. */
const TIMED_OUT = /^(57014|55P03)$/

export async function faultOf(error: unknown, pool: Pool): Promise<Fault> {
  if (error instanceof HookonceError) return { of: 'statement', isHarmful: false }
  if (error instanceof SilentServer) return silentFault(error, pool)
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  if (isOfStatement(code)) return { of: 'statement', isHarmful: TIMED_OUT.test(code) }
  if (!(await answers(pool))) return { of: 'ledger' }
  if (code === undefined || ENDS_CONNECTION.test(code)) return { of: 'connection' }
  return { of: 'statement', isHarmful: true }
}

function isOfStatement(code: string | undefined): code is string {
  if (code === undefined || ENDS_CONNECTION.test(code)) return false
  return !LIKE_AN_OUTAGE.test(code) || code === WRONG_VALUES || TIMED_OUT.test(code)
}

/** The server was busy with what it was asked, if it answers others. */
async function silentFault(error: SilentServer, pool: Pool): Promise<Fault> {
  const ended = await endSilent(pool, error)
  return ended ? { of: 'statement', isHarmful: true, busyWith: ended.statement } : { of: 'ledger' }
}

/** Longer than a busy server takes for nothing; as long as a connection may take to open. */
const ANSWER_MS = 5_000

/** Whether the ledger answers on another connection. */
async function answers(pool: Pool): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_MS)
  })
  const probe = pool.query('select 1').then(
    () => true,
    // The error that made us probe is the one that is reported.
    () => false,
  )
  const isAnswering = await Promise.race([probe, late])
  clearTimeout(timer)
  return isAnswering
}
