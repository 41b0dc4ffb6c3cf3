import { HookonceError } from '../model/errors.ts'
import { allLedgerNames, ledgerNames } from '../model/ledger-names.ts'
import type { DecisionReason } from '../operate/audit.ts'
import { listLedgers } from '../operate/ledgers.ts'
import { addLedger, isOnCitus, moveLedger } from '../operate/migrate.ts'
import { type Moved, moveTenant } from '../operate/move-tenant.ts'
import { isSet } from '../operate/tables.ts'
import { actorOf, reasonOf } from './actor.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, parseDuration, usageError } from './command.ts'
import { databaseOf, ledgersOf, schemaFrom, withLedger } from './open-ledger.ts'
import { print, printJson, safe, table } from './print.ts'

const usage = `hookonce ledgers [list] [--dir DIR] [--json]
hookonce ledgers add [--why TEXT] [--by NAME] [--json]
hookonce ledgers move TENANT LEDGER --why TEXT [--by NAME] [--drain 60s] [--dir DIR] [--json]
hookonce ledgers move LEDGER --node HOST:PORT --why TEXT [--by NAME] [--json]

Needs HOOKONCE_LEDGERS: the number of ledgers, or the option \`ledgers\` as JSON.

list shows each ledger, whether it can be read, and its tenants.
add creates the next ledger in DATABASE_URL, and prints what to set. The new ledger is distributed if the first one is.
For a ledger on another server, raise \`count\` and add its URL to \`placement\` in HOOKONCE_LEDGERS instead, and run
\`hookonce migrate\`.
move moves a tenant with all of its events to another ledger. Deliveries of the tenant get 503 meanwhile. Runs that
take longer than --drain run again there. If the move is interrupted, start it again: it continues. To cancel it before
it switches, move the tenant to its old ledger.
move --node moves a whole ledger to another node of its Citus cluster while the ledger is in use.

\`hookonce audit\` shows who decided (--by, else your user name), when and why.`

export const ledgers: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 3 }, args, {
      ...ledgerOptions,
      by: { type: 'string' },
      why: { type: 'string' },
      drain: { type: 'string', default: '60s' },
      node: { type: 'string' },
    })
    const [verb = 'list', tenant, to] = positionals
    if (verb === 'list') return list(values)
    if (verb === 'add') return add(values)
    if (verb !== 'move') throw unknownVerb({ usage }, verb, ['list', 'add', 'move'])
    if (values.node !== undefined) return moveWhole(values, tenant, values.node)
    if (tenant === undefined || to === undefined)
      throw usageError({ usage }, 'move needs a tenant and the name of a ledger')
    const reason = moveReason(values)
    const drainMs = parseDuration({ usage }, values.drain)
    const moved = await withLedger(values.dir, (all) => {
      if (!isSet(all)) throw withoutLedgers()
      const onStep = (step: string): boolean => process.stderr.write(`${step}\n`)
      return moveTenant(all, { tenant, to, drainMs, onStep: (step) => void onStep(step) }, reason)
    })
    if (values.json) printJson(moved)
    else print(safe(sentenceOf(moved)))
  },
}

function moveReason({ by, why }: GivenReason): DecisionReason {
  if (!why) throw usageError({ usage }, 'move needs --why: the audit records the reason')
  return { by: actorOf(by), why }
}

function sentenceOf({ tenant, from, to, cancelled }: Moved): string {
  if (cancelled === undefined) return `moved ${tenant} from ${from} to ${to}`
  return `cancelled the move of ${tenant} to ${cancelled}: it stays in ${to}`
}

interface GivenReason {
  readonly by?: string | undefined
  readonly why?: string | undefined
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
  const hasNodes = found.some(({ node }) => node !== undefined)
  const rows = found.map(({ name, schema, tenants, node, error }) => [
    name,
    error === undefined ? (schema ?? 'not migrated') : 'cannot be read',
    ...(hasNodes ? [node ?? '-'] : []),
    error ?? (tenants.join(', ') || '-'),
  ])
  print(table(['ledger', 'schema', ...(hasNodes ? ['node'] : []), 'tenants'], rows))
}

async function moveWhole(
  { json, ...values }: Pick<ListValues, 'json'> & GivenReason,
  ledger: string | undefined,
  address: string,
): Promise<void> {
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? []
  if (ledger === undefined) throw usageError({ usage }, 'move --node needs the name of a ledger')
  if (host === undefined) throw usageError({ usage }, `--node must be HOST:PORT, not "${address}"`)
  const reason = moveReason(values)
  const all = await ledgersOf()
  if (!all) throw withoutLedgers()
  const names = allLedgerNames(schemaFrom(process.env), all)
  if (!names.includes(ledger))
    throw new HookonceError(
      'CONFIG_INVALID',
      `there is no ledger "${ledger}"; the ledgers are ${names.join(', ')}`,
    )
  const database = all.placement[ledger] ?? databaseOf(process.env)
  await moveLedger({ database, ledger, node: { host, port: Number(port) } }, reason)
  if (json) printJson({ ledger, node: address })
  else print(safe(`moved ${ledger} to ${address}`))
}

async function add({ json, ...values }: Pick<ListValues, 'json'> & GivenReason): Promise<void> {
  const reason = reasonOf(values)
  const all = await ledgersOf()
  if (!all) throw withoutLedgers()
  const count = all.count + 1
  const name = ledgerNames(schemaFrom(process.env), count).at(-1) ?? ''
  const database = databaseOf(process.env)
  const isDistributed = await isOnCitus(database, ledgerNames(schemaFrom(process.env), 1)[0] ?? '')
  const applied = await addLedger({ database, ledger: name, number: all.count, isDistributed }, reason)
  if (json) return printJson({ ledger: name, count, applied })
  print(`created ${name}: set the number of ledgers to ${count} in every process and in HOOKONCE_LEDGERS`)
}

function withoutLedgers(): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    'set HOOKONCE_LEDGERS to the number of ledgers, or to the option `ledgers` as JSON',
  )
}
