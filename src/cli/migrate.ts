import pg from 'pg'
import { checkedUrl } from '../ledger/ledger.ts'
import { migrate as migrateSchema } from '../ledger/migrate.ts'
import { HookonceError } from '../model/errors.ts'
import { type Command, parse } from './command.ts'
import { print, printJson } from './print.ts'

const usage = `DATABASE_URL=postgres://… hookonce migrate [--json]

Brings the schema \`hookonce\` of the database up to date. Two at once is safe.`

export const migrate: Command = {
  name: 'migrate',
  summary: 'bring the schema of DATABASE_URL up to date',
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, { json: { type: 'boolean', default: false } })
    const url = process.env.DATABASE_URL
    if (!url) throw new HookonceError('CONFIG_INVALID', 'set DATABASE_URL to the database to migrate')
    const pool = new pg.Pool({
      connectionString: checkedUrl(url),
      max: 1,
      application_name: 'hookonce migrate',
    })
    try {
      const applied = await migrateSchema(pool)
      if (values.json) printJson({ applied })
      else print(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`)
    } finally {
      await pool.end()
    }
  },
}
