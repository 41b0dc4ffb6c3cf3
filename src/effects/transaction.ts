import type { QueryResult } from 'pg'
import { COMMIT, inOneWrite, inTransaction } from '../ledger/driver/in-transaction.ts'
import { commitAndReset, isReset, resetSession } from '../ledger/driver/sessions.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { findStep, recordStep } from '../ledger/effects/steps.ts'
import { completeWithStep } from '../ledger/jobs/complete.ts'
import { addMessages } from '../ledger/outbox/messages.ts'
import { HANDLER_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import type { TransactionAdapter } from './adapters/contract.ts'
import { staleReason } from './latest.ts'
import { type AdaptedTransaction, openTransaction, type Transaction } from './open-transaction.ts'
import { fromRecord, toRecord } from './recorded.ts'
import { asLeaseLost, claimName, type HandlerRun } from './run.ts'
import { stopAfterRollback, UnknownEffectMet } from './transaction-effect.ts'

export interface TransactionOptions {
  /** A handler with several transactions names each: a name is done once for each job. */
  readonly name?: string
  /** It is the last thing that the handler does: the job is completed in the same commit. */
  readonly last?: boolean
}

export interface AdapterOptions<Native> extends TransactionOptions {
  /** A transaction of your own library, on the ledger's database. */
  readonly on: TransactionAdapter<Native>
}

const DEFAULT_NAME = 'transaction'
/** Serialization failures and deadlocks, the last as Prisma calls both: trying again may help. */
const TRY_AGAIN = new Set(['40001', '40P01', 'P2034'])
const MAX_TRIES = 5

/**
 * A call of ctx inside a transaction would commit apart from it, or wait for it for ever. What is
 * inside and what runs beside it looks the same from here: AsyncLocalStorage could tell, but from
 * the first use on it makes every promise of the process dearer, by a seventh of what a transaction
 * costs.
 */
export function refuseInside({ progress }: HandlerRun, what: string): void {
  const [name] = progress.openTransactions ?? []
  if (name === undefined) return
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    `${what} was called while the transaction "${name}" was open: call it before or after, or use what tx offers`,
  )
}

/**
 * The handler's part. In a transaction of its own library it gets that one too, and of ours only
 * what it lacks.
 */
export type Work<Result> = (tx: Transaction, native: unknown) => PromiseLike<Result>

/**
 * Business writes, messages, effect keys, versions of entities and "this is done" in one commit,
 * refused when the fence is stale. A later attempt or a replay does not run `work` again, it gets
 * the recorded result.
 */
export async function transaction<Result>(
  run: HandlerRun,
  work: Work<Result>,
  options: TransactionOptions & { readonly on?: TransactionAdapter<unknown> },
): Promise<Result> {
  const { name = DEFAULT_NAME, last = false, on } = options
  claimName(run, name)
  const before = run.isFirst ? undefined : await doneBefore(run, name)
  // What was recorded is what `work` returned then.
  if (before) return before.result as Result
  for (let tries = 1; ; tries += 1) {
    const step = stepOf(run, work, { name, last })
    try {
      const result = await (on ? inAdapterTransaction(run, on, step) : inOwnTransaction(run, step))
      step.committed()
      return result
    } catch (error) {
      if (error instanceof UnknownEffectMet) return stopAfterRollback(run, error)
      if (tries >= MAX_TRIES || !TRY_AGAIN.has(sqlStateOf(error))) throw error
    }
  }
}

async function doneBefore(
  { business: { pool }, job, epoch, lastStep }: HandlerRun,
  name: string,
): Promise<{ result: unknown } | undefined> {
  if (lastStep === name) return { result: undefined }
  const found = await findStep(pool, { job, epoch, name })
  return found && { result: fromRecord(found.result) }
}

/** One try of a transaction, whoever opened it. */
interface Step<Result>
  extends Pick<ReturnType<typeof openTransaction>, 'onClient' | 'onAdapter' | 'changesRole'> {
  /** The handler's part. */
  perform(tx: AdaptedTransaction, native?: unknown): Promise<Result>
  /**
   * Ours, in this order, before the commit. The last is the fence: where it is stale, none of it is
   * committed.
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
  const { messages, entityOutcomes, operations, onClient, onAdapter, changesRole, close } = openTransaction(
    run,
    name,
  )
  return {
    changesRole,
    onClient,
    onAdapter,
    async perform(tx, native) {
      progress.openTransactions ??= new Set()
      progress.openTransactions.add(name)
      try {
        const result = await work(tx as Transaction, native)
        // A handler that caught why it must stop would otherwise commit the rest as if nothing were
        // missing.
        if (progress.stopped) throw progress.stopped
        operations.requireAwaited()
        // Nobody awaits it: who would be told if it failed? It must not complete the job behind the
        // handler's back.
        if (last && progress.hasHandlerEnded)
          throw new HookonceError('CONTEXT_CLOSED', 'the last transaction was not awaited')
        return result
      } finally {
        // What is still under way would go on after the rollback, outside of any transaction.
        if (operations.firstPending !== undefined) await operations.idle()
        progress.openTransactions.delete(name)
        close()
      }
    },
    closingStatements(db, result) {
      const record = last ? null : toJson(name, result)
      const done = (): Promise<void> =>
        last
          ? completeWithStep(db, { job, name }, staleReason([...progress.entityOutcomes, ...entityOutcomes]))
          : recordStep(db, { job, epoch, name, result: record })
      const fenced = (): Promise<void> =>
        done().catch((error) => {
          throw asLeaseLost(error)
        })
      return [() => addMessages(db, messages), fenced]
    },
    committed() {
      if (last) progress.settled = 'processed'
      progress.entityOutcomes.push(...entityOutcomes)
      if (messages.length > 0) business.outbox.committed()
    },
  }
}

/**
 * Round trips are what costs here: BEGIN travels with the first statement of `work`, COMMIT right
 * behind our last words. If they failed, what commits is a rollback. Then the session is reset, for
 * the next on this connection, unless the pool is the caller's. A role that `work` has set may not
 * write to the ledger, so the reset also comes before our words.
 */
function inOwnTransaction<Result>({ business, subscriber }: HandlerRun, step: Step<Result>): Promise<Result> {
  const { pool } = business
  return inTransaction(
    pool,
    async (client) => {
      const result = await step.perform(step.onClient(client))
      const closing = step.closingStatements(client, result)
      const isOwn = isReset(pool)
      await Promise.all(
        inOneWrite(client, () => [
          isOwn && step.changesRole() ? client.query(resetSession(client)) : undefined,
          ...closing.map((send) => send()),
          client.query(isOwn ? commitAndReset(client, HANDLER_MS) : COMMIT),
        ]),
      )
      return result
    },
    // Who says nothing for as long as a handler may run is frozen: its handler is over, by anyone's
    // clock.
    { idleMs: subscriber.timeoutMs },
  )
}

const SET_IDLE_TIMEOUT = `select set_config('idle_in_transaction_session_timeout', $1, true)`

function inAdapterTransaction<Result>(
  { subscriber }: HandlerRun,
  adapter: TransactionAdapter<unknown>,
  step: Step<Result>,
): Promise<Result> {
  return adapter.transaction(async (native, query) => {
    const db: Queryable = {
      async query({ text, values }) {
        const rows = await query(text, values).catch(refuseElsewhere)
        return { rows: [...rows], rowCount: rows.length }
      },
    }
    // As in ours: a frozen process must not keep its locks.
    await query(SET_IDLE_TIMEOUT, [String(Math.ceil(subscriber.timeoutMs))])
    const result = await step.perform(step.onAdapter(db), native)
    for (const send of step.closingStatements(db, result)) await send()
    return result
  })
}

/** No such schema, no such table. */
const NOT_THERE = new Set(['3F000', '42P01'])

function refuseElsewhere(error: unknown): never {
  if (!NOT_THERE.has(sqlStateOf(error))) throw error
  const fault = 'the transaction is on a database that has no ledger, so nothing can be committed with it'
  throw new HookonceError('TRANSACTION_ELSEWHERE', fault, { cause: error })
}

/**
 * The result as JSON. What a query or ctx.latest() returned is often handed on without being looked
 * at.
 */
function toJson(name: string, result: unknown): string | null {
  return toRecord(`transaction "${name}"`, withoutDriver(result))
}

/**
 * The result of a query is an object of the driver: its rows, and what else its type declares, are
 * kept.
 */
function withoutDriver(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  if (isQueryResult(result)) {
    const { command, rowCount, oid, rows, fields } = result
    return { command, rowCount, oid, rows, fields: fields.map((field) => ({ ...field })) }
  }
  if ('outcome' in result && 'result' in result) return { ...result, result: withoutDriver(result.result) }
  return result
}

/** By its shape: an application may bring a `pg` of its own. */
function isQueryResult(result: object): result is QueryResult {
  const isOfClass = Object.getPrototypeOf(result) !== Object.prototype
  return (
    isOfClass && 'command' in result && 'rows' in result && 'fields' in result && Array.isArray(result.fields)
  )
}
