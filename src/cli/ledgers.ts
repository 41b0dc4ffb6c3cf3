import { HookonceError } from '../model/errors.ts'
import { ledgerNames } from '../model/ledger-names.ts'
import { listLedgers } from '../operate/ledgers.ts'
import { migrateDatabase } from '../operate/migrate.ts'
import { moveTenant } from '../operate/move-tenant.ts'
import { isSet } from '../operate/tables.ts'
import { actorOf } from './actor.ts'
import { type Command, ledgerOptions, parse, parseDuration, usageError } from './command.ts'
import { databaseOf, ledgersOf, schemaFrom, withLedger } from './open-ledger.ts'
import { print, printJson, safe, table } from './print.ts'

const usage = `hookonce ledgers [list] [--dir DIR] [--json]
hookonce ledgers add [--json]
hookonce ledgers move TENANT LEDGER --why TEXT [--by NAME] [--drain 60s] [--dir DIR] [--json]

Needs HOOKONCE_LEDGERS: the number of ledgers, or the option \`ledgers\` as JSON.

list shows each ledger, whether it can be read, and its tenants.
add makes the next ledger in DATABASE_URL, and prints what to set.
move moves a tenant with all of its events to another ledger. Deliveries of the tenant are answered 503 meanwhile, and
runs that take longer than --drain run again there. If it is interrupted, start it again: it continues.`

export const ledgers: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 3 }, args, {
      ...ledgerOptions,
      by: { type: 'string' },
      why: { type: 'string' },
      drain: { type: 'string', default: '60s' },
    })
    const [verb = 'list', tenant, to] = positionals
    if (verb === 'list') return list(values)
    if (verb === 'add') return add(values)
    if (verb !== 'move') throw usageError({ usage }, `unexpected argument "${verb}"`)
    if (tenant === undefined || to === undefined)
      throw usageError({ usage }, 'move needs a tenant and the name of a ledger')
    if (values.why === undefined) throw usageError({ usage }, 'move needs --why')
    const reason = { by: actorOf(values.by), why: values.why }
    const drainMs = parseDuration({ usage }, values.drain)
    const moved = await withLedger(values.dir, (all) => {
      if (!isSet(all)) throw withoutLedgers()
      const onStep = (step: string): boolean => process.stderr.write(`${step}\n`)
      return moveTenant(all, { tenant, to, drainMs, onStep: (step) => void onStep(step) }, reason)
    })
    if (values.json) printJson(moved)
    else print(safe(`moved ${moved.tenant} from ${moved.from} to ${moved.to}`))
  },
}

interface ListValues {
  readonly dir: string
  readonly json: boolean
}

async function list({ dir, json }: ListValues): Promise<void> {
  const found = await withLedger(dir, (all) => {
    if (!isSet(all)) throw withoutLedgers()
    return listLedgers(all)
  })
  if (json) return printJson(found)
  const rows = found.map(({ name, schema, tenants, error }) => [
    name,
    error === undefined ? (schema ?? 'not migrated') : 'cannot be read',
    error ?? (tenants.join(', ') || '-'),
  ])
  print(table(['ledger', 'schema', 'tenants'], rows))
}

async function add({ json }: Pick<ListValues, 'json'>): Promise<void> {
  const all = await ledgersOf()
  if (!all) throw withoutLedgers()
  const count = all.count + 1
  const name = ledgerNames(schemaFrom(process.env), count).at(-1) ?? ''
  const applied = await migrateDatabase(databaseOf(process.env), name, { number: all.count })
  if (json) return printJson({ ledger: name, count, applied })
  print(`created ${name}: set the number of ledgers to ${count} in every process and in HOOKONCE_LEDGERS`)
}

function withoutLedgers(): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    'set HOOKONCE_LEDGERS to the number of ledgers, or to the option `ledgers` as JSON',
  )
}
