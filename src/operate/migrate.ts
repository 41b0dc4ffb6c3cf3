import pg from 'pg'
import { setSchema } from '../ledger/driver/schema.ts'
import { checkedUrl } from '../ledger/ledger.ts'
import { migrate } from '../ledger/migrations/migrate.ts'
import { openFailure } from '../ledger/open-failure.ts'
import { ledgerNumber, separateIds } from '../ledger/places/id-range.ts'
import { allLedgerNames, type LedgersOptions } from '../model/ledger-names.ts'
import { quietPool } from '../sql/quiet-pool.ts'

/** Brings the schema of a database up to date. Returns the names of the migrations it applied. */
export function migrateDatabase(
  database: string,
  schema: string,
  { number }: { readonly number?: number | undefined } = {},
): Promise<string[]> {
  return onDatabase(database, async (url) => {
    const pool = quietPool(
      new pg.Pool({ connectionString: url, max: 1, application_name: 'hookonce migrate' }),
    )
    try {
      const applied = await migrate(setSchema(pool, schema))
      if (number !== undefined && applied.length > 0) await separateIds(pool, number)
      return applied
    } finally {
      await pool.end()
    }
  })
}

export interface MigratedLedger {
  readonly ledger: string
  readonly applied: readonly string[]
}

/** Brings several ledgers up to date, one after the other. Creates ledgers that do not exist. */
export async function migrateLedgers(
  database: string,
  schema: string,
  ledgers: LedgersOptions,
): Promise<MigratedLedger[]> {
  const migrated: MigratedLedger[] = []
  for (const ledger of allLedgerNames(schema, ledgers)) {
    const applied = await migrateDatabase(ledgers.placement[ledger] ?? database, ledger, {
      number: ledgers.also.includes(ledger) ? undefined : ledgerNumber(ledger),
    })
    migrated.push({ ledger, applied })
  }
  return migrated
}

/** Checks the URL. If the database cannot be reached, throws an error of the catalogue. */
export async function onDatabase<Result>(
  database: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const url = checkedUrl(database)
  try {
    return await work(url)
  } catch (error) {
    throw openFailure(error, url)
  }
}
