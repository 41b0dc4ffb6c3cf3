import type { QueryResultRow } from 'pg'
import { inSchemaText, schemaOf, shapeOf } from './schema.ts'

/** Runs queries: a pool, or one of its connections inside a transaction. */
export interface Queryable {
  query(query: {
    name?: string
    text: string
    values: unknown[]
  }): Promise<{ rows: unknown[]; rowCount: number | null }>
}

/** A statement of the ledger, whatever its schema is called. */
export interface Statement {
  readonly name: string
  /** SQL that calls the schema `ledger`. */
  readonly text: string
  /** `plain`: a distributed ledger sends other statements instead (shapes.ts). */
  readonly only?: 'plain'
}

/** A statement for one schema, which `pg` prepares once per connection. */
export interface PreparedStatement {
  readonly name: string
  readonly text: string
}

const defined = new Map<string, Statement>()

/**
 * Defines a statement. Statements are constants at the top of their table's file. Names are unique:
 * `pg` rejects a different text under a name that is already prepared on the connection.
 */
export function statement(name: string, text: string, { only }: Pick<Statement, 'only'> = {}): Statement {
  if ((defined.get(name)?.text ?? text) !== text)
    throw new Error(`a statement named "${name}" already exists; use a unique name`)
  const made: Statement = { name, text, ...(only ? { only } : {}) }
  defined.set(name, made)
  return made
}

/** Every statement of the modules that were loaded so far. */
export function definedStatements(): Statement[] {
  return [...defined.values()]
}

export async function rows<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: unknown[] = [],
): Promise<Row[]> {
  const { name, text } = prepared(statement, db)
  const result = await db.query({ name, text, values })
  return result.rows as Row[]
}

/** Runs a statement and returns how many rows it changed. */
export async function change(db: Queryable, statement: Statement, values: unknown[] = []): Promise<number> {
  const { name, text } = prepared(statement, db)
  const result = await db.query({ name, text, values })
  return result.rowCount ?? 0
}

/** By schema. A process has few of them, so nothing is ever removed. */
const preparedIn = new Map<string, WeakMap<Statement, PreparedStatement>>()

/** The statement for the schema of a pool or connection. */
function prepared(statement: Statement, db: object): PreparedStatement {
  if (statement.only === 'plain' && shapeOf(db) === 'distributed')
    throw new Error(`the statement "${statement.name}" does not run on a distributed ledger`)
  const schema = schemaOf(db)
  let known = preparedIn.get(schema)
  if (known === undefined) {
    known = new WeakMap()
    preparedIn.set(schema, known)
  }
  const before = known.get(statement)
  if (before) return before
  const made = { name: `${schema}_${statement.name}`, text: inSchemaText(statement.text, schema) }
  known.set(statement, made)
  return made
}
