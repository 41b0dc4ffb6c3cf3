import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg'
import { inOneWrite, inTransaction } from '../ledger/in-transaction.ts'
import { addMessages, type NewMessage } from '../ledger/outbox.ts'
import { completeWithStep, findStep, recordStep, STALE_FENCE } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import { type MessageOrigin, outgoing, type PublishOptions } from './message.ts'

/** The business side of a transaction: the ledger's own database, inside BEGIN and COMMIT. */
export interface Transaction {
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
  /** A message that is committed with the transaction, and then carried on by its publisher. Returns its id. */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
}

export interface TransactionOptions {
  /** A handler with several transactions names each: a name is done once for each job. */
  readonly name?: string
  /** It is the last thing that the handler does: the job is completed in the same commit. */
  readonly last?: boolean
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
/** Serialization failures and deadlocks: the database says that trying again may help. */
const TRY_AGAIN = new Set(['40001', '40P01'])
const MAX_TRIES = 5
const MAX_RESULT_BYTES = 64 * 1024

/**
 * Business writes and "this is done" in one commit, refused when the fence is stale. A later attempt or a replay
 * does not run `work` again, it gets the recorded result.
 *
 * Round trips are what costs here: BEGIN travels with the first statement of `work`, COMMIT with our own last one.
 */
export async function transaction<Result>(
  run: TransactionRun,
  work: (tx: Transaction) => Promise<Result>,
  { name = DEFAULT_NAME, last = false }: TransactionOptions,
): Promise<Result> {
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
    try {
      return await once(run, work, { name, last })
    } catch (error) {
      if (tries >= MAX_TRIES || !TRY_AGAIN.has(codeOf(error))) throw error
    }
  }
}

async function doneBefore(
  { pool, job, lastStep }: TransactionRun,
  name: string,
): Promise<{ result: unknown } | undefined> {
  return lastStep === name ? { result: undefined } : findStep(pool, job, name)
}

async function once<Result>(
  run: TransactionRun,
  work: (tx: Transaction) => Promise<Result>,
  { name, last }: Required<TransactionOptions>,
): Promise<Result> {
  const { messages, publish, close } = outgoing(run, name)
  const result = await inTransaction(run.pool, async (client) => {
    const result = await work({ publish, query: (text, values = []) => client.query(text, [...values]) })
    close()
    await commit(client, messages, () =>
      last
        ? completeWithStep(client, run.job, name)
        : recordStep(client, { job: run.job, name, result: toJson(name, result) }),
    )
    return result
  })
  run.completed ||= last
  if (messages.length > 0) run.outbox.committed()
  return result
}

/** COMMIT follows our last words without waiting. If they failed, what commits is a rollback. */
async function commit(
  client: PoolClient,
  messages: readonly NewMessage[],
  say: () => Promise<void>,
): Promise<void> {
  const [added, said, committed] = inOneWrite(
    client,
    () => [addMessages(client, messages), say(), client.query('commit')] as const,
  )
  const fenced = said.catch((error) => {
    if (codeOf(error) !== STALE_FENCE) throw error
    throw new HookonceError('LEASE_LOST', 'another worker owns this job now', { cause: error })
  })
  await Promise.all([added, fenced, committed])
}

function toJson(name: string, result: unknown): string {
  const json = JSON.stringify(result ?? null)
  if (Buffer.byteLength(json) <= MAX_RESULT_BYTES) return json
  throw new HookonceError(
    'STEP_RESULT_TOO_LARGE',
    `the result of "${name}" is larger than ${MAX_RESULT_BYTES} bytes: return less, an id is enough`,
  )
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}
