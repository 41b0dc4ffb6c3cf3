import type { Pool } from 'pg'
import { HookonceError } from '../model/errors.ts'

export type Row = Record<string, unknown>

const NAME = /^(?:[A-Za-z_][\w$]*\.)?[A-Za-z_][\w$]*$/

/** All rows of a table. Ordered by their text, so that two runs can be compared. */
export async function tableRows<R>(pool: Pool, table: string): Promise<R[]> {
  if (!NAME.test(table))
    throw new HookonceError(
      'CONFIG_INVALID',
      `rows(): "${table}" is not the name of a table, or of schema.table`,
    )
  const quoted = table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
  const { rows } = await pool.query(`select * from ${quoted} t order by t::text collate "C"`)
  return rows as R[]
}
