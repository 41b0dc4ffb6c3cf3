import pg from 'pg'
import { ensurePostgresTable } from '../keys/index.ts'
import { checkedUrl } from '../ledger/ledger.ts'
import { migrate as migrateSchema } from '../ledger/migrations/migrate.ts'
import { openFailure } from '../ledger/open-failure.ts'
import { HookonceError } from '../model/errors.ts'
import { type Command, parse, usageError } from './command.ts'
import { print, printJson } from './print.ts'

const usage = `DATABASE_URL=postgres://… hookonce migrate [--keys [--table NAME]] [--json]

Brings the schema \`hookonce\` of the database up to date. Two at once is safe.

  --keys        makes the table of postgresKeys() instead, for apps whose own user may not
  --table NAME  what it is called, where not hookonce_key`

export const migrate: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      json: { type: 'boolean', default: false },
      keys: { type: 'boolean', default: false },
      table: { type: 'string' },
    })
    const given = process.env.DATABASE_URL
    if (!given) throw new HookonceError('CONFIG_INVALID', 'set DATABASE_URL to the database to migrate')
    if (values.table !== undefined && !values.keys)
      throw usageError({ usage }, '--table is the table of keys: it needs --keys')
    const url = checkedUrl(given)
    if (values.keys) {
      const { table = 'hookonce_key' } = values
      await ensurePostgresTable({ database: url, table }).catch((error) => fail(error, url))
      if (values.json) printJson({ table })
      else print(`the table ${table} is there`)
      return
    }
    const pool = new pg.Pool({
      connectionString: url,
      max: 1,
      application_name: 'hookonce migrate',
    })
    try {
      const applied = await migrateSchema(pool).catch((error) => fail(error, url))
      if (values.json) printJson({ applied })
      else print(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`)
    } finally {
      await pool.end()
    }
  },
}

function fail(error: unknown, url: string): never {
  throw openFailure(error, url)
}
