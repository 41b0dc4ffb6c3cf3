import type { Pool } from 'pg'
import { schemaOf } from '../driver/schema.ts'
import { CLOCK_SCHEMA } from './clock.ts'

/* Not a statement of a ledger: it reads the user's tables. */
const COLUMNS = `select n.nspname || '.' || c.relname as table, a.attname as name,
    (a.attidentity <> '' or coalesce(pg_get_expr(d.adbin, d.adrelid), '') ~* '(nextval|now|timestamp|random|uuid)')
      as "isMade"
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relkind in ('r', 'p') and not c.relispartition
    and n.nspname not in ('information_schema', $1, $2) and n.nspname !~ '^pg_'
  order by 1, a.attnum`

export interface UserColumn {
  /** With its schema. */
  readonly table: string
  readonly name: string
  /**
   * The default of the column is a time, a sequence or random: it differs between two equal runs.
   */
  readonly isMade: boolean
}

/** The columns of all tables that are not ours. */
export async function userColumns(pool: Pool): Promise<UserColumn[]> {
  return (await pool.query<UserColumn>(COLUMNS, [schemaOf(pool), CLOCK_SCHEMA])).rows
}
