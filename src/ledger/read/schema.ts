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
