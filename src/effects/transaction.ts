import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { inOneWrite, inTransaction } from '../ledger/in-transaction.ts'
import { addMessages } from '../ledger/outbox.ts'
import { sqlStateOf } from '../ledger/sql-state.ts'
import type { Queryable } from '../ledger/statement.ts'
import { completeWithStep, findStep, recordStep, STALE_FENCE } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import type { TransactionAdapter } from './adapters/contract.ts'
import { type MessageOrigin, outgoing, type PublishOptions } from './message.ts'

export interface Publishing {
  /** A message that is committed with the transaction, and then carried on by its publisher. Returns its id. */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
}

/** The business side of a transaction: the ledger's own database, inside BEGIN and COMMIT. */
export interface Transaction extends Publishing {
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
}

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

export interface TransactionRun extends MessageOrigin {
  readonly pool: Pool
  /** The step whose commit completed an earlier run of this job: it is done, and has no result. */
  readonly lastStep: string | undefined
  /** Names that this run has used. */
  readonly names: Set<string>
  /** Set when a commit of this run has completed the job. */
  completed: boolean
}

const DEFAULT_NAME = 'transaction'
/** Serialization failures and deadlocks, the last as Prisma calls both: trying again may help. */
const TRY_AGAIN = new Set(['40001', '40P01', 'P2034'])
const MAX_TRIES = 5
const MAX_RESULT_BYTES = 64 * 1024

/** The handler's part. In a transaction of its own library it gets that one too, and needs no `query`. */
export type Work<Result> = (tx: Transaction, native: unknown) => PromiseLike<Result>

/**
 * Business writes and "this is done" in one commit, refused when the fence is stale. A later attempt or a replay
 * does not run `work` again, it gets the recorded result.
 */
export async function transaction<Result>(
  run: TransactionRun,
  work: Work<Result>,
  options: TransactionOptions & { readonly on?: TransactionAdapter<unknown> },
): Promise<Result> {
  const { name = DEFAULT_NAME } = options
  if (run.names.has(name)) {
    throw new HookonceError(
      'STEP_REPEATED',
      `"${name}" was used before in this run: give each transaction a name of its own`,
    )
  }
  run.names.add(name)
  // The first run of a job has nothing to find.
  const before = run.job.fence > 1 ? await doneBefore(run, name) : undefined
  // What was recorded is what `work` returned then.
  if (before) return before.result as Result
  for (let tries = 1; ; tries += 1) {
    const step = stepOf<Result>(run, { name, last: options.last ?? false })
    try {
      const result = await (options.on ? inTheirs(options.on, work, step) : inOurs(run.pool, work, step))
      step.committed()
      return result
    } catch (error) {
      if (tries >= MAX_TRIES || !TRY_AGAIN.has(sqlStateOf(error))) throw error
    }
  }
}

async function doneBefore(
  { pool, job, lastStep }: TransactionRun,
  name: string,
): Promise<{ result: unknown } | undefined> {
  return lastStep === name ? { result: undefined } : findStep(pool, job, name)
}

/** What is ours in a transaction, whoever opened it. */
interface Step<Result> extends Publishing {
  /** Our last words, in this order, after `work` and before the commit. */
  lastWords(db: Queryable, result: Result): (() => Promise<void>)[]
  committed(): void
}

function stepOf<Result>(run: TransactionRun, { name, last }: Required<TransactionOptions>): Step<Result> {
  const { messages, publish, close } = outgoing(run, name)
  return {
    publish,
    lastWords(db, result) {
      close()
      const record = { job: run.job, name, result: last ? '' : toJson(name, result) }
      const say = last ? () => completeWithStep(db, run.job, name) : () => recordStep(db, record)
      return [() => addMessages(db, messages), () => say().catch(refused)]
    },
    committed() {
      run.completed ||= last
      if (messages.length > 0) run.outbox.committed()
    },
  }
}

/**
 * Round trips are what costs here: BEGIN travels with the first statement of `work`, COMMIT right behind our last
 * words. If they failed, what commits is a rollback.
 */
function inOurs<Result>(pool: Pool, work: Work<Result>, step: Step<Result>): Promise<Result> {
  return inTransaction(pool, async (client) => {
    const query: Transaction['query'] = (text, values = []) => client.query(text, [...values])
    const result = await work({ publish: step.publish, query }, undefined)
    const words = step.lastWords(client, result)
    await Promise.all(inOneWrite(client, () => [...words.map((say) => say()), client.query('commit')]))
    return result
  })
}

function inTheirs<Result>(
  adapter: TransactionAdapter<unknown>,
  work: Work<Result>,
  step: Step<Result>,
): Promise<Result> {
  return adapter.transaction(async (native, query) => {
    const result = await work({ publish: step.publish } as Transaction, native)
    const db: Queryable = {
      async query({ text, values }) {
        await query(text, values)
        return { rows: [], rowCount: null }
      },
    }
    for (const say of step.lastWords(db, result)) await say().catch(elsewhere)
    return result
  })
}

function refused(error: unknown): never {
  if (sqlStateOf(error) !== STALE_FENCE) throw error
  throw new HookonceError('LEASE_LOST', 'another worker owns this job now', { cause: error })
}

/** No such schema, no such table. */
const NOT_THERE = new Set(['3F000', '42P01'])

function elsewhere(error: unknown): never {
  if (!NOT_THERE.has(sqlStateOf(error))) throw error
  const fault = 'the transaction is on a database that has no ledger, so nothing can be committed with it'
  throw new HookonceError('TRANSACTION_ELSEWHERE', fault, { cause: error })
}

function toJson(name: string, result: unknown): string {
  const json = stringified(name, result)
  if (Buffer.byteLength(json) <= MAX_RESULT_BYTES) return json
  throw new HookonceError(
    'STEP_RESULT_TOO_LARGE',
    `the result of "${name}" is larger than ${MAX_RESULT_BYTES} bytes: return less, an id is enough`,
  )
}

/** Query builders like to return what JSON does not know, such as a BigInt. */
function stringified(name: string, result: unknown): string {
  try {
    return JSON.stringify(result ?? null) ?? 'null'
  } catch (error) {
    const fault = `the result of "${name}" is not JSON: return an id, or nothing`
    throw new HookonceError('CONFIG_INVALID', fault, { cause: error })
  }
}
