import { AsyncLocalStorage } from 'node:async_hooks'
import type { PoolClient, QueryResult, QueryResultRow } from 'pg'
import { inOneWrite, inTransaction } from '../ledger/in-transaction.ts'
import { completeWithStep, findStep, recordStep } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import type { VersionInput } from '../model/version.ts'
import { type Latest, type LatestOptions, latest, staleReason } from './latest.ts'
import { fromRecord, limited } from './recorded.ts'
import { asLeaseLost, claimName, type HandlerRun, sqlStateOf } from './run.ts'
import {
  effectInTransaction,
  MetUnknown,
  stopAtMet,
  type TransactionEffectOptions,
} from './transaction-effect.ts'

/** The business side of a transaction: the ledger's own database, inside BEGIN and COMMIT. */
export interface Transaction {
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
  /** Runs `work` between SAVEPOINT and RELEASE: when it throws, what it did is undone and the rest stands. */
  savepoint<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Business writes that happen once for this key, whichever event asks: the key is committed with them. Whoever
   * asks later gets the recorded result.
   */
  effect<Result>(
    key: string,
    work: () => Promise<Result>,
    options?: TransactionEffectOptions,
  ): Promise<Result>
  /** Runs `work` only if this version of the entity is newer than the applied one; see ctx.latest. */
  latest<Result, Current = unknown>(
    entity: string,
    version: VersionInput | undefined,
    work: (current: Current | undefined) => Promise<Result>,
    options?: LatestOptions<Current>,
  ): Promise<Latest<Result>>
}

export interface TransactionOptions {
  /** A handler with several transactions names each: a name is done once for each job. */
  readonly name?: string
  /** It is the last thing that the handler does: the job is completed in the same commit. */
  readonly last?: boolean
}

const DEFAULT_NAME = 'transaction'
/** Serialization failures and deadlocks: the database says that trying again may help. */
const TRY_AGAIN = new Set(['40001', '40P01'])
const MAX_TRIES = 5

/** The transaction that the running code is part of, by name. */
const inside = new AsyncLocalStorage<string>()

/** A call of ctx inside a transaction would commit apart from it, or wait for it for ever. */
export function refuseInside(what: string, instead: string): void {
  const name = inside.getStore()
  if (name === undefined) return
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    `${what} was called inside the transaction "${name}": ${instead}`,
  )
}

/**
 * Business writes and "this is done" in one commit, refused when the fence is stale. A later attempt or a replay
 * does not run `work` again, it gets the recorded result.
 *
 * Round trips are what costs here: BEGIN travels with the first statement of `work`, COMMIT with our own last one.
 */
export async function transaction<Result>(
  run: HandlerRun,
  work: (tx: Transaction) => Promise<Result>,
  { name = DEFAULT_NAME, last = false }: TransactionOptions,
): Promise<Result> {
  claimName(run, name)
  // The first run of a job has nothing to find.
  const before = run.job.fence > 1 ? await doneBefore(run, name) : undefined
  // What was recorded is what `work` returned then.
  if (before) return before.result as Result
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(run, work, { name, last })
    } catch (error) {
      if (error instanceof MetUnknown) return stopAtMet(run, error)
      if (tries >= MAX_TRIES || !TRY_AGAIN.has(sqlStateOf(error))) throw error
    }
  }
}

async function doneBefore(
  { pool, job, epoch, lastStep }: HandlerRun,
  name: string,
): Promise<{ result: unknown } | undefined> {
  if (lastStep === name) return { result: undefined }
  const found = await findStep(pool, { job, epoch, name })
  return found && { result: fromRecord(found.result) }
}

async function once<Result>(
  run: HandlerRun,
  work: (tx: Transaction) => Promise<Result>,
  { name, last }: Required<TransactionOptions>,
): Promise<Result> {
  const { job, epoch } = run
  return inTransaction(
    run.pool,
    async (client) => {
      const open = transactionOn(client, run)
      const result = await inside.run(name, () => work(open.tx)).finally(open.close)
      // A handler that caught why it must stop would otherwise commit the rest as if nothing were missing.
      if (run.stopped) throw run.stopped
      const news = [...run.news, ...open.news]
      await commit(client, () =>
        last
          ? completeWithStep(client, { job, name }, staleReason(news))
          : recordStep(client, { job, epoch, name, result: toJson(name, result) }),
      )
      if (last) run.settled = 'processed'
      run.news.push(...open.news)
      return result
      // Who says nothing for as long as a handler may run is frozen: its handler is over, by anyone's clock.
    },
    { idleMs: run.timeoutMs },
  )
}

interface OpenTransaction {
  readonly tx: Transaction
  /** What came of entities in it. */
  readonly news: readonly Latest<unknown>[]
  close(): void
}

function transactionOn(client: PoolClient, run: HandlerRun): OpenTransaction {
  const news: Latest<unknown>[] = []
  let closed = false
  let savepoints = 0

  function requireOpen(): void {
    // The connection may be another transaction's by now.
    if (closed)
      throw new HookonceError('CONTEXT_CLOSED', 'tx was used after its transaction: await everything')
  }

  const tx: Transaction = {
    async query(text, values = []) {
      requireOpen()
      refuseControl(text)
      return client.query(text, [...values])
    },
    async savepoint(work) {
      requireOpen()
      savepoints += 1
      const name = `hookonce_${savepoints}`
      await client.query(`savepoint ${name}`)
      try {
        const result = await work()
        await client.query(`release savepoint ${name}`)
        return result
      } catch (error) {
        await client.query(`rollback to savepoint ${name}`)
        throw error
      }
    },
    async effect(key, work, options = {}) {
      requireOpen()
      return effectInTransaction(run, client, { key, work, options })
    },
    async latest(entity, version, work, options = {}) {
      requireOpen()
      const outcome = await latest(run, client, { entity, version, work, options })
      news.push(outcome)
      return outcome
    },
  }
  return {
    tx,
    news,
    close() {
      closed = true
    },
  }
}

const CONTROL =
  /^\s*(begin|start\s+transaction|commit|end|abort|rollback(?!\s+(work\s+|transaction\s+)?to\b)|prepare\s+transaction)\b/i

/** Its end is ours to say: only then do the writes, the record and the fence go together. */
function refuseControl(text: string): void {
  const [, word] = CONTROL.exec(text) ?? []
  if (word === undefined) return
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    `"${word}" inside a transaction: it is committed when its function returns, and rolled back when it throws`,
  )
}

/** COMMIT follows our last words without waiting. If they failed, what commits is a rollback. */
async function commit(client: PoolClient, say: () => Promise<void>): Promise<void> {
  const [said, committed] = inOneWrite(client, () => [say(), client.query('commit')] as const)
  const fenced = said.catch((error) => {
    throw asLeaseLost(error)
  })
  await Promise.all([fenced, committed])
}

/** Leniently: what a query returned is often handed on without being looked at. */
function toJson(name: string, result: unknown): string | null {
  const json = JSON.stringify(result) as string | undefined
  return json === undefined ? null : limited(`transaction "${name}"`, json)
}
