import type { PoolClient, QueryResult, QueryResultRow } from 'pg'
import type { Queryable } from '../ledger/driver/statement.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import type { VersionInput } from '../model/version.ts'
import { mentionsPrepare } from '../sql/session-reset.ts'
import { asOneStatement, refuseControl, refuseSeveral } from '../sql/statement-kind.ts'
import { type Latest, type LatestOptions, latest } from './latest.ts'
import { type PublishOptions, stepMessages } from './message.ts'
import { observedEffect } from './observed-effect.ts'
import { Operations } from './operations.ts'
import type { HandlerRun } from './run.ts'
import { effectInTransaction, type TransactionEffectOptions } from './transaction-effect.ts'

/** The methods of every transaction, including those of other libraries. */
export interface AdaptedTransaction {
  /** Adds a message that is committed with the transaction, and then published. Returns its id. */
  publish(topic: string, payload: unknown, options?: PublishOptions): string
  /**
   * Business writes that happen once per key, whichever event requests them. The key is committed
   * with the writes. Later requests return the recorded result.
   */
  effect<Result>(
    key: string,
    work: () => Promise<Result>,
    options?: TransactionEffectOptions,
  ): Promise<Result>
  /**
   * Runs `work` only if this version of the entity is newer than the applied one: see ctx.latest.
   */
  latest<Result, Current = unknown>(
    entity: string,
    version: VersionInput | undefined,
    work: (current: Current | undefined) => Promise<Result>,
    options?: LatestOptions<Current>,
  ): Promise<Latest<Result>>
}

/** A transaction on the ledger's own database. */
export interface Transaction extends AdaptedTransaction {
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
  /** With a name, the server parses and plans the statement once per connection. */
  query<Row extends QueryResultRow = QueryResultRow>(statement: NamedStatement): Promise<QueryResult<Row>>
  /** Runs `work` between SAVEPOINT and RELEASE: if it throws, only its own writes are undone. */
  savepoint<Result>(work: () => Promise<Result>): Promise<Result>
}

/** A statement in the form of pg. */
export interface NamedStatement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** One open transaction, and the records to commit with it. */
export interface OpenTransaction {
  readonly messages: readonly NewMessage[]
  /** The outcomes of ctx.latest for the entities in this transaction. */
  readonly entityOutcomes: readonly Latest<unknown>[]
  onAdapter(db: Queryable): AdaptedTransaction
  onClient(client: PoolClient): Transaction
  /** Operations that were started in this transaction. */
  readonly operations: Operations
  /** Whether a statement of this transaction mentions a role, and so may have changed it. */
  changesRole(): boolean
  /** Whether a statement of this transaction may have left a prepared statement. */
  mayHavePrepared(): boolean
  close(): void
}

/** SET ROLE, SET SESSION AUTHORIZATION, set_config('role', …). */
const ROLE = /\b(role|authorization)\b/i

export function openTransaction(run: HandlerRun, name: string): OpenTransaction {
  const { messages, publish, keep } = stepMessages(run, name)
  const entityOutcomes: Latest<unknown>[] = []
  const operations = new Operations()
  const scope = { tenant: run.subscriber.tenant, shards: run.business.shards }
  let isClosed = false
  let savepoints = 0
  let namesRole = false
  let namesPrepare = false

  function requireOpen(): void {
    // After the end, the connection may belong to another transaction.
    if (isClosed)
      throw new HookonceError(
        'CONTEXT_CLOSED',
        'tx was used after its transaction had ended; await every call of tx',
      )
  }

  function onAdapter(db: Queryable): AdaptedTransaction {
    return {
      publish(topic, payload, options) {
        requireOpen()
        return publish(topic, payload, options)
      },
      effect: (key, work, options = {}) =>
        operations.start(`tx.effect("${key}")`, async () => {
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
        operations.start(`tx.latest("${entity}")`, async () => {
          requireOpen()
          const outcome = await latest(scope, db, { entity, version, work, options })
          entityOutcomes.push(outcome)
          return outcome
        }),
    }
  }

  function onClient(client: PoolClient): Transaction {
    return {
      ...onAdapter(client),
      query: (given: string | NamedStatement, values: readonly unknown[] = []) =>
        operations.start('tx.query()', async () => {
          requireOpen()
          const statement =
            typeof given === 'string' ? { text: given, values } : { values, ...given, text: given.text }
          refuseControl(statement.text)
          namesRole ||= ROLE.test(statement.text)
          namesPrepare ||= mentionsPrepare(statement.text)
          return client
            .query(asOneStatement({ ...statement, values: [...statement.values] }))
            .catch(refuseSeveral)
        }),
      savepoint: (work) => operations.start('tx.savepoint()', () => savepoint(client, work)),
    }
  }

  async function savepoint<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
    requireOpen()
    savepoints += 1
    const name = `hookonce_${savepoints}`
    const before = { messages: messages.length, outcomes: entityOutcomes.length }
    await client.query(`savepoint ${name}`)
    try {
      const result = await work()
      await client.query(`release savepoint ${name}`)
      return result
    } catch (error) {
      // The rollback also undoes the messages and versions that `work` added.
      keep(before.messages)
      entityOutcomes.length = before.outcomes
      await client.query(`rollback to savepoint ${name}`)
      throw error
    }
  }

  return {
    messages,
    entityOutcomes,
    operations,
    changesRole: () => namesRole,
    mayHavePrepared: () => namesPrepare,
    onAdapter,
    onClient,
    close() {
      isClosed = true
      operations.closeInto(run.progress.operations)
    },
  }
}
