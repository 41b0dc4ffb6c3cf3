import type { QueryResultRow } from 'pg'

/** Runs queries: a pool, or one of its connections inside a transaction. */
export interface Queryable {
  query(query: {
    name?: string
    text: string
    values: unknown[]
  }): Promise<{ rows: unknown[]; rowCount: number | null }>
}

/** A named, prepared statement of the ledger. */
export interface Statement {
  readonly name: string
  readonly text: string
}

const texts = new Map<string, string>()

/**
 * Defines a statement. Statements are constants at the top of their table's file. Names are unique:
 * `pg` rejects a different text under a name that is already prepared on the connection.
 */
export function statement(name: string, text: string): Statement {
  if ((texts.get(name) ?? text) !== text)
    throw new Error(`a statement named "${name}" already exists; use a unique name`)
  texts.set(name, text)
  return { name: `hookonce_${name}`, text }
}

export async function rows<Row extends QueryResultRow>(
  db: Queryable,
  { name, text }: Statement,
  values: unknown[] = [],
): Promise<Row[]> {
  const result = await db.query({ name, text, values })
  return result.rows as Row[]
}

/** Runs a statement and returns how many rows it changed. */
export async function change(
  db: Queryable,
  { name, text }: Statement,
  values: unknown[] = [],
): Promise<number> {
  const result = await db.query({ name, text, values })
  return result.rowCount ?? 0
}
