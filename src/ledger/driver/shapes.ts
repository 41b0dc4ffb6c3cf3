import pg from 'pg'
import { COMMIT, inTransaction } from './in-transaction.ts'
import { shapeOf } from './schema.ts'
import { change, type Queryable, type Statement } from './statement.ts'

/*
 * Some statements have two shapes. The plain shape does all of its work in one statement, so it
 * needs one round trip. Citus routes a statement to the node of a distributed schema only if the
 * statement as a whole can run there, and an INSERT under WITH cannot. The distributed shape sends
 * several statements in one transaction instead, each of which runs on the node of the ledger.
 *
 * The shape is chosen once, when a ledger opens (ledger.ts), and marked on its pools, as the name
 * of the schema is. test/scenarios/each-server/citus-shapes.test.ts has the rules for these
 * statements.
 */

/** Whether the ledger lives in a schema that Citus has distributed. */
export function isDistributed(db: object): boolean {
  return shapeOf(db) === 'distributed'
}

/**
 * Runs statements in one transaction: in the transaction of `db` if it is a connection, or in one
 * of its own if it is a pool.
 */
export function together<Result>(
  db: Queryable,
  work: (client: Queryable) => Promise<Result>,
): Promise<Result> {
  if (!(db instanceof pg.Pool)) return work(db)
  return inTransaction(db, async (client) => {
    const result = await work(client)
    await client.query(COMMIT)
    return result
  })
}

/** A statement with the values of its parameters. */
export type Filled = readonly [Statement, unknown[]]

/**
 * Runs statements in one transaction, without reading their results in between. On a connection,
 * all of them are sent before this returns: callers send the COMMIT right behind.
 */
export async function changeAll(db: Queryable, statements: readonly Filled[]): Promise<void> {
  await together(db, async (client) => {
    const send = ([statement, values]: Filled): Promise<number> => change(client, statement, values)
    if ('release' in client) await Promise.all(statements.map(send))
    // The transaction of another library, which may not take a second statement yet.
    else for (const each of statements) await send(each)
  })
}

/**
 * A table of the ledger with one row, for an INSERT whose rows come from parameters. With a table
 * in its SELECT, Citus runs the INSERT on the node of the ledger. Without one, it would compute the
 * rows on the coordinator and copy them.
 */
export const ON_NODE = `(select from ledger.setting where name = 'shards') node`

/**
 * A condition that is always true, for an INSERT whose SELECT reads a table of the ledger and calls
 * a stable function, or relies on a default of now(). Citus 13.2 sends a broken text for it (an
 * empty `IS NOT NULL` condition). A volatile function makes Citus read the rows first, on the node
 * of the ledger, and then insert them there.
 */
export const NOT_PUSHED = 'random() >= 0'
