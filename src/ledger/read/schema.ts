import { type Queryable, rows, statement } from '../driver/statement.ts'

const SCHEMA_VERSION = statement(
  'schema_version',
  `select id as version, name, applied_at as "appliedAt" from ledger.migration order by id desc limit 1`,
)

export interface SchemaVersion {
  /** The number of the newest migration that was applied. */
  readonly version: number
  readonly name: string
  readonly appliedAt: Date
}

/** Undefined: nothing was migrated. */
export async function schemaVersion(db: Queryable): Promise<SchemaVersion | undefined> {
  const [newest] = await rows<SchemaVersion>(db, SCHEMA_VERSION)
  return newest
}

const HAS_TABLE = statement('has_table', 'select to_regclass($1) is not null as exists')

/** `table` is quoted and qualified. */
export async function hasTable(db: Queryable, table: string): Promise<boolean> {
  const [row] = await rows<{ exists: boolean }>(db, HAS_TABLE, [table])
  return row?.exists === true
}
