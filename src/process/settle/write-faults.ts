import pg, { type Pool } from 'pg'
import { endSilent, SilentServer } from '../../ledger/driver/silent-server.ts'
import { HookonceError } from '../../model/errors.ts'

/*
 * Finds the cause when a transaction of writes fails. Only an outage of the ledger is retried
 * forever. A bad statement that is mistaken for an outage would block the writes of all other jobs.
 */

export type Fault =
  /** The ledger does not answer: no statement is the cause, so retry. */
  | { readonly of: 'ledger' }
  /** Only this connection broke: an administrator, or one of the statements, may have ended it. */
  | { readonly of: 'connection' }
  | {
      readonly of: 'statement'
      /**
       * The statement fails slowly, or by exhausting shared resources, so it must not share a
       * transaction again.
       */
      readonly isHarmful: boolean
      /** The beginning of the running statement, if the server reported no error. */
      readonly busyWith?: string | undefined
    }

/**
 * Classes of SQLSTATE: connection failure, missing resources, operator intervention, system error.
 * One statement can cause each.
 */
const LIKE_AN_OUTAGE = /^(08|53|57|58)/
/**
 * SQLSTATEs: shutdown or crash of the server, a dropped database, a session that was idle for too
 * long, a session without its prepared statements.
 */
const ENDS_CONNECTION = /^(57P0[1-5]|25P03|26000)$/
/** Too few or too many values: a fault of the statement, although the class is 08. */
const WRONG_VALUES = '08P01'
/** A statement or a lock timed out. */
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

/** If the server answers on other connections, the statement kept it busy. */
async function silentFault(error: SilentServer, pool: Pool): Promise<Fault> {
  const ended = await endSilent(pool, error)
  return ended ? { of: 'statement', isHarmful: true, busyWith: ended.statement } : { of: 'ledger' }
}

/** Longer than a busy server needs for `select 1`; as long as a connection may take to open. */
const ANSWER_MS = 5_000

/** Whether the ledger answers on another connection. */
async function answers(pool: Pool): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_MS)
  })
  const probe = pool.query('select 1').then(
    () => true,
    // The caller reports the original error, not this one.
    () => false,
  )
  const isAnswering = await Promise.race([probe, late])
  clearTimeout(timer)
  return isAnswering
}
