import type { PoolClient, QueryResult } from 'pg'
import { COMMIT, inOneWrite, inTransaction } from '../ledger/driver/in-transaction.ts'
import { markLike } from '../ledger/driver/schema.ts'
import { resetSession } from '../ledger/driver/sessions.ts'
import { isConflict, MAX_TRIES, sqlStateOf } from '../ledger/driver/sql-state.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { findStep, recordStep } from '../ledger/effects/steps.ts'
import { completeWithStep } from '../ledger/jobs/complete.ts'
import { addMessages } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import { endAndReset, isReset } from '../sql/session-reset.ts'
import type { TransactionAdapter } from './adapters/contract.ts'
import { staleReason } from './latest.ts'
import {
  type AdaptedTransaction,
  type OpenTransaction,
  openTransaction,
  type Transaction,
} from './open-transaction.ts'
import { fromRecord, toRecord } from './recorded.ts'
import { asLeaseLost, claimName, type HandlerRun } from './run.ts'
import { stopAfterRollback, UnknownEffectMet } from './transaction-effect.ts'

export interface TransactionOptions {
  /**
   * A name for a handler with several transactions. A transaction with a name runs once per job.
   */
  readonly name?: string
  /** True if this is the last action of the handler. The same commit then completes the job. */
  readonly last?: boolean
}

export interface AdapterOptions<Native> extends TransactionOptions {
  /** A transaction of your own library, on the ledger's database. */
  readonly on: TransactionAdapter<Native>
}

export const DEFAULT_NAME = 'transaction'
const LOST_JOB_OR_STEP =
  'another worker owns this job now, or a failover of the database lost an earlier step of this run'

/**
 * A call of ctx inside a transaction would commit separately, or wait for the transaction forever.
 * Calls in parallel to a transaction look the same, so they are refused too. AsyncLocalStorage
 * could distinguish them, but it slows every promise of the process, by a seventh of the cost of a
 * transaction.
 */
export function refuseInside({ progress }: HandlerRun, what: string): void {
  const [name] = progress.openTransactions ?? []
  if (name === undefined) return
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    `${what} was called while the transaction "${name}" was open; call it before or after, or use tx instead`,
  )
}

/**
 * The handler's function. With an adapter it also gets the native transaction, and `tx` has only
 * the methods that the native one lacks.
 */
export type Work<Result> = (tx: Transaction, native: unknown) => PromiseLike<Result>

/**
 * Commits business writes, messages, effect keys, versions of entities and the record of the step
 * together; with a stale fence nothing is committed. A later attempt or a replay returns the
 * recorded result and does not run `work` again.
 */
export async function transaction<Result>(
  run: HandlerRun,
  work: Work<Result>,
  options: TransactionOptions & { readonly on?: TransactionAdapter<unknown> },
): Promise<Result> {
  const { name = DEFAULT_NAME, last = false, on } = options
  claimName(run, name)
  const before = run.isFirst ? undefined : await doneBefore(run, name)
  // The recorded value is what `work` returned.
  if (before) return before.result as Result
  for (let tries = 1; ; tries += 1) {
    const step = stepOf(run, work, { name, last })
    try {
      const result = await (on ? inAdapterTransaction(run, on, step) : inOwnTransaction(run, step))
      step.committed()
      return result
    } catch (error) {
      if (error instanceof UnknownEffectMet) return stopAfterRollback(run, error)
      if (tries >= MAX_TRIES || !isConflict(error)) throw error
    }
  }
}

async function doneBefore(
  { business: { pool }, job, epoch, lastStep, progress }: HandlerRun,
  name: string,
): Promise<{ result: unknown } | undefined> {
  const found = await findStep(pool, { job, epoch, name })
  // A last transaction without a result has no record of its own.
  if (!found) return lastStep === name ? { result: undefined } : undefined
  progress.steps += 1
  return { result: fromRecord(found.result) }
}

/** One attempt of a transaction, on a connection of hookonce or on an adapter. */
interface Step<Result>
  extends Pick<OpenTransaction, 'onClient' | 'onAdapter' | 'changesRole' | 'mayHavePrepared'> {
  /** Runs the handler's function. */
  perform(tx: AdaptedTransaction, native?: unknown): Promise<Result>
  /**
   * The statements of hookonce before the commit, in this order. The last one requires the live
   * fence: if the fence is stale, nothing is committed.
   */
  closingStatements(db: Queryable, result: Result): (() => Promise<void>)[]
  committed(): void
}

function stepOf<Result>(
  run: HandlerRun,
  work: Work<Result>,
  { name, last }: Required<TransactionOptions>,
): Step<Result> {
  const { job, epoch, progress, business } = run
  const open = openTransaction(run, name)
  const { messages, entityOutcomes, operations, close } = open
  return {
    ...open,
    async perform(tx, native) {
      progress.openTransactions ??= new Set()
      progress.openTransactions.add(name)
      try {
        const result = await work(tx as Transaction, native)
        // The handler may have caught the error that must stop it. An incomplete transaction must
        // not commit.
        if (progress.stopped) throw progress.stopped
        operations.requireAwaited()
        // The handler ended without awaiting this transaction, so this transaction must not
        // complete its job.
        if (last && progress.hasHandlerEnded)
          throw new HookonceError(
            'CONTEXT_CLOSED',
            'the last transaction was not awaited; await ctx.transaction()',
          )
        return result
      } finally {
        // A pending operation would continue after the rollback, outside of any transaction.
        if (operations.firstPending !== undefined) await operations.idle()
        progress.openTransactions.delete(name)
        close()
      }
    },
    closingStatements(db, result) {
      const record = { job, epoch, name, result: toJson(name, result) }
      const done = (): Promise<void> =>
        last
          ? completeWithStep(db, {
              ...record,
              steps: progress.steps,
              reason: staleReason([...progress.entityOutcomes, ...entityOutcomes]),
            })
          : recordStep(db, record)
      const fenced = (): Promise<void> =>
        done().catch((error) => {
          throw asLeaseLost(error, last && progress.steps > 0 ? LOST_JOB_OR_STEP : undefined)
        })
      return [() => addMessages(db, messages), fenced]
    },
    committed() {
      if (last) progress.settled = 'processed'
      else progress.steps += 1
      progress.entityOutcomes.push(...entityOutcomes)
      if (messages.length > 0) business.outbox.committed()
    },
  }
}

/**
 * Saves round trips: BEGIN is sent with the first statement of `work`, and COMMIT directly after
 * the closing statements. If those fail, the COMMIT rolls back. COMMIT and ROLLBACK also reset the
 * session for the next user of this connection, unless the pool belongs to the caller. A role that `work` has set
 * may lack the right to write to the ledger, so a reset also precedes the closing statements.
 */
function inOwnTransaction<Result>({ business, subscriber }: HandlerRun, step: Step<Result>): Promise<Result> {
  const { pool } = business
  const isOwn = isReset(pool)
  const commitAndReset = (client: PoolClient): string =>
    endAndReset(pool, client, { verb: 'commit', mayHavePrepared: step.mayHavePrepared() })
  return inTransaction(
    pool,
    async (client) => {
      const result = await step.perform(step.onClient(client))
      const closing = step.closingStatements(client, result)
      await Promise.all(
        inOneWrite(client, () => [
          isOwn && step.changesRole() ? client.query(resetSession(client)) : undefined,
          ...closing.map((send) => send()),
          client.query(isOwn ? commitAndReset(client) : COMMIT),
        ]),
      )
      return result
    },
    {
      // A session that idles for longer than a handler may run belongs to a frozen process.
      idleMs: subscriber.timeoutMs,
      mayHavePrepared: step.mayHavePrepared,
    },
  )
}

const SET_IDLE_TIMEOUT = `select set_config('idle_in_transaction_session_timeout', $1, true)`

function inAdapterTransaction<Result>(
  { business, subscriber }: HandlerRun,
  adapter: TransactionAdapter<unknown>,
  step: Step<Result>,
): Promise<Result> {
  return adapter.transaction(async (native, query) => {
    const onNative: Queryable = {
      async query({ text, values }) {
        const rows = await query(text, values).catch(refuseElsewhere)
        return { rows: [...rows], rowCount: rows.length }
      },
    }
    const db = markLike(onNative, business.pool)
    // Same timeout as in transactions of hookonce: a frozen process must not keep its locks.
    await query(SET_IDLE_TIMEOUT, [String(Math.ceil(subscriber.timeoutMs))])
    const result = await step.perform(step.onAdapter(db), native)
    for (const send of step.closingStatements(db, result)) await send()
    return result
  })
}

/** SQLSTATEs: undefined schema, undefined table. */
const NOT_THERE = new Set(['3F000', '42P01'])

function refuseElsewhere(error: unknown): never {
  if (!NOT_THERE.has(sqlStateOf(error))) throw error
  const fault = 'the transaction runs on a database without a ledger; use the database that holds the ledger'
  throw new HookonceError('TRANSACTION_ELSEWHERE', fault, { cause: error })
}

/** The result as JSON. Handlers often return the result of a query or of tx.latest() unchanged. */
function toJson(name: string, result: unknown): string | null {
  return toRecord(`transaction "${name}"`, withoutDriver(result))
}

/** A query result is an object of the driver: only its declared properties are recorded. */
function withoutDriver(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  if (isQueryResult(result)) {
    const { command, rowCount, oid, rows, fields } = result
    return { command, rowCount, oid, rows, fields: fields.map((field) => ({ ...field })) }
  }
  if ('outcome' in result && 'result' in result) return { ...result, result: withoutDriver(result.result) }
  return result
}

/** Checked by its shape: an application may use its own copy of `pg`. */
function isQueryResult(result: object): result is QueryResult {
  const isOfClass = Object.getPrototypeOf(result) !== Object.prototype
  return (
    isOfClass && 'command' in result && 'rows' in result && 'fields' in result && Array.isArray(result.fields)
  )
}
