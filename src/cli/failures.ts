import { type FailureFilter, type FailureGroup, listFailures } from '../operate/failures.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { filterOptions, parseFilter, requireNames } from './filter.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { type TenantColumn, tenantColumn } from './tenant-column.ts'

const usage = `hookonce failures [--source NAME] [--subscriber NAME] [--type TYPE] [--since TIME] [--until TIME] [--tenant NAME]
                  [--json] [--dir DIR]

Groups failed jobs by source, subscriber and error, the largest group first, with one receipt of each to show. Errors that
differ only in ids are one group. --since and --until are times of the failure: 2h (ago), or 2026-01-31T12:00:00Z.`

export const failures: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, { ...ledgerOptions, ...filterOptions })
    const filter = parseFilter({ usage }, values)
    const { found, column } = await withLedger(values.dir, async (ledger) => {
      await requireNames(ledger, filter)
      return { found: await listFailures(ledger, filter), column: await tenantColumn(ledger) }
    })
    if (values.json) return printJson(found)
    if (found.groups.length === 0)
      return print(isFiltered(filter) ? 'no failed jobs match' : 'no failed jobs')
    const head = ['JOBS', ...column.head, 'SOURCE', 'SUBSCRIBER', 'LAST', 'RECEIPT', 'GROUP', 'ERROR']
    print(
      table(
        head,
        found.groups.map((group) => cells(group, column)),
      ),
    )
    if (!found.isComplete) print(`\n${missingFrom(filter)}`)
    print(
      '\nhookonce show <receipt> shows one of them, hookonce replay --failed --error <group> processes them again',
    )
  },
}

/** The reason why the list is incomplete. */
function missingFrom({ type, since, until }: FailureFilter): string {
  if (type === undefined && since === undefined && until === undefined)
    return 'there are more groups: narrow them with --source and --subscriber'
  return 'older failures are not counted: narrow them with --since and --until'
}

function isFiltered(filter: FailureFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

function cells(group: FailureGroup, column: TenantColumn): string[] {
  return [
    String(group.jobs),
    ...column.cell(group.tenant),
    safe(group.source),
    safe(group.subscriber),
    clock(group.lastAt),
    group.receiptIds[0] ?? '-',
    group.fingerprint,
    safe(group.error),
  ]
}
