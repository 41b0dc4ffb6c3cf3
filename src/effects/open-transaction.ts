import type { PoolClient, QueryResult, QueryResultRow } from 'pg'
import type { Queryable } from '../ledger/driver/statement.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import type { VersionInput } from '../model/version.ts'
import { asOneStatement, refuseControl, refuseSeveral } from '../sql/statement-kind.ts'
import { Calls } from './calls.ts'
import { type Latest, type LatestOptions, latest } from './latest.ts'
import { outgoing, type PublishOptions } from './message.ts'
import { observedEffect } from './observed-effect.ts'
import type { HandlerRun } from './run.ts'
import { effectInTransaction, type TransactionEffectOptions } from './transaction-effect.ts'

/** What can be said in a transaction, also in one of another library. */
export interface AdaptedTransaction {
  /**
   * A message that is committed with the transaction, and then carried on by its publisher. Returns
   * its id.
   */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
  /**
   * Business writes that happen once for this key, whichever event asks: the key is committed with
   * them. Whoever asks later gets the recorded result.
   */
  effect<Result>(
    key: string,
    work: () => Promise<Result>,
    options?: TransactionEffectOptions,
  ): Promise<Result>
  /**
   * Runs `work` only if this version of the entity is newer than the applied one; see ctx.latest.
   */
  latest<Result, Current = unknown>(
    entity: string,
    version: VersionInput | undefined,
    work: (current: Current | undefined) => Promise<Result>,
    options?: LatestOptions<Current>,
  ): Promise<Latest<Result>>
}

/** The business side of a transaction: the ledger's own database, inside BEGIN and COMMIT. */
export interface Transaction extends AdaptedTransaction {
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
  /** With a name, the server parses and plans it once a connection. */
  query<Row extends QueryResultRow = QueryResultRow>(statement: NamedStatement): Promise<QueryResult<Row>>
  /**
   * Runs `work` between SAVEPOINT and RELEASE: when it throws, what it did is undone and the rest
   * stands.
   */
  savepoint<Result>(work: () => Promise<Result>): Promise<Result>
}

/** A statement as pg takes it. */
export interface NamedStatement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** What is told in one transaction, to be committed with it. */
export interface OpenTransaction {
  readonly messages: readonly NewMessage[]
  /** What came of entities in it. */
  readonly news: readonly Latest<unknown>[]
  onTheirs(db: Queryable): AdaptedTransaction
  onOurs(client: PoolClient): Transaction
  /** What was begun in it. */
  readonly calls: Calls
  /** Whether a statement in it may have set another role, as far as its text tells. */
  changesRole(): boolean
  close(): void
}

/** SET ROLE, SET SESSION AUTHORIZATION, set_config('role', …). */
const ROLE = /\b(role|authorization)\b/i

export function openTransaction(run: HandlerRun, name: string): OpenTransaction {
  const { messages, publish, keep } = outgoing(run, name)
  const news: Latest<unknown>[] = []
  const calls = new Calls()
  let closed = false
  let savepoints = 0
  let namesRole = false

  function requireOpen(): void {
    // The connection may be another transaction's by now.
    if (closed)
      throw new HookonceError('CONTEXT_CLOSED', 'tx was used after its transaction: await everything')
  }

  function onTheirs(db: Queryable): AdaptedTransaction {
    return {
      publish(topic, payload, options) {
        requireOpen()
        return publish(topic, payload, options)
      },
      effect: (key, work, options = {}) =>
        calls.make(`tx.effect("${key}")`, async () => {
          requireOpen()
          return observedEffect(run, { key, mode: 'tx' }, (onStart) => {
            const starting = () => {
              onStart()
              return work()
            }
            return effectInTransaction(run, db, { key, work: starting, options })
          })
        }),
      latest: (entity, version, work, options = {}) =>
        calls.make(`tx.latest("${entity}")`, async () => {
          requireOpen()
          const outcome = await latest(run, db, { entity, version, work, options })
          news.push(outcome)
          return outcome
        }),
    }
  }

  function onOurs(client: PoolClient): Transaction {
    return {
      ...onTheirs(client),
      query: (given: string | NamedStatement, values: readonly unknown[] = []) =>
        calls.make('tx.query()', async () => {
          requireOpen()
          const statement =
            typeof given === 'string' ? { text: given, values } : { values, ...given, text: given.text }
          refuseControl(statement.text)
          namesRole ||= ROLE.test(statement.text)
          return client
            .query(asOneStatement({ ...statement, values: [...statement.values] }))
            .catch(refuseSeveral)
        }),
      savepoint: (work) => calls.make('tx.savepoint()', () => savepoint(client, work)),
    }
  }

  async function savepoint<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
    requireOpen()
    savepoints += 1
    const name = `hookonce_${savepoints}`
    const toldBefore = { messages: messages.length, news: news.length }
    await client.query(`savepoint ${name}`)
    try {
      const result = await work()
      await client.query(`release savepoint ${name}`)
      return result
    } catch (error) {
      // What it told of is undone.
      keep(toldBefore.messages)
      news.length = toldBefore.news
      await client.query(`rollback to savepoint ${name}`)
      throw error
    }
  }

  return {
    messages,
    news,
    calls,
    changesRole: () => namesRole,
    onTheirs,
    onOurs,
    close() {
      closed = true
      calls.closeInto(run.calls)
    },
  }
}
