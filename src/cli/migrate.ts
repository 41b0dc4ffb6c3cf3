import { readConfig } from '../gateway/config/config.ts'
import { ensurePostgresTable } from '../keys/index.ts'
import { HookonceError } from '../model/errors.ts'
import { migrateDatabase, migrateLedgers, onDatabase } from '../operate/migrate.ts'
import { type Command, parse, usageError } from './command.ts'
import { ledgersOf, schemaFrom } from './open-ledger.ts'
import { print, printJson } from './print.ts'

const usage = `DATABASE_URL=postgres://… hookonce migrate [--ledgers N] [--distribute] [--config FILE] [--keys [--table NAME]] [--json]

Brings the tables of the ledger up to date. They are in the schema \`hookonce\`, or in the one that
HOOKONCE_SCHEMA names. Two migrations at once are safe.

  --ledgers N   makes or migrates N ledgers, in the schemas hookonce_0, hookonce_1 and so on
  --distribute  gives the schema of each ledger to Citus, which places it on one of its nodes
  --config FILE takes the database and the ledgers from a gateway's configuration, with their servers
  --keys        creates the table of postgresKeys() instead, for apps whose database user may not create tables
  --table NAME  the name of that table, if it is not hookonce_key`

export const migrate: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      json: { type: 'boolean', default: false },
      keys: { type: 'boolean', default: false },
      table: { type: 'string' },
      ledgers: { type: 'string' },
      distribute: { type: 'boolean', default: false },
      config: { type: 'string' },
    })
    const config = values.config === undefined ? undefined : await readConfig(values.config, process.env)
    const database = config?.database ?? process.env.DATABASE_URL
    if (!database) throw new HookonceError('CONFIG_INVALID', 'set DATABASE_URL to the database to migrate')
    if (values.table !== undefined && !values.keys)
      throw usageError({ usage }, '--table is the table of keys: it needs --keys')
    if (values.keys) {
      const { table = 'hookonce_key' } = values
      await onDatabase(database, (url) => ensurePostgresTable({ database: url, table }))
      if (values.json) printJson({ table })
      else print(`the table ${table} exists`)
      return
    }
    const schema = schemaFrom(process.env)
    const ledgers = await ledgersOf(values, config)
    const target = { isDistributed: values.distribute }
    if (ledgers) {
      const migrated = await migrateLedgers(database, schema, ledgers, target)
      if (values.json) return printJson({ ledgers: migrated })
      return print(migrated.map(({ ledger, applied }) => `${ledger}: ${appliedText(applied)}`).join('\n'))
    }
    const applied = await migrateDatabase(database, schema, target)
    if (values.json) printJson({ applied })
    else print(appliedText(applied))
  },
}

function appliedText(applied: readonly string[]): string {
  return applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`
}
