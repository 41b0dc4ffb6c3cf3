import { type ListedAudit, listAudit } from '../operate/audit.ts'
import { type Command, ledgerOptions, parse, parseLimit } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { type TenantColumn, tenantColumn } from './tenant-column.ts'

const usage = `hookonce audit [--tenant NAME] [--limit N] [--after ID] [--json] [--dir DIR]

Lists the decisions of operators, newest first: who decided what, when, from where and why. BY is the name of a token, or
cli:NAME for the command line, env:HOOKONCE_ADMIN_TOKEN, or local:loopback for a listener that needs no token.
--after continues after the entry with this id, which --json prints.`

export const audit: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      tenant: { type: 'string' },
      limit: { type: 'string', default: '50' },
      after: { type: 'string' },
    })
    const { tenant, after } = values
    const limit = parseLimit({ usage }, values.limit)
    const { entries, column } = await withLedger(values.dir, async (ledger) => ({
      ...(await listAudit(ledger, { tenant, limit, after })),
      column: await tenantColumn(ledger),
    }))
    if (values.json) return printJson(entries)
    if (entries.length === 0) return print('no decisions')
    const head = ['DECIDED', 'BY', 'FROM', 'WHAT', ...column.head, 'ON', 'WHY']
    print(
      table(
        head,
        entries.map((entry) => cells(entry, column)),
      ),
    )
  },
}

function cells(entry: ListedAudit, column: TenantColumn): string[] {
  const { at, actor, address, action, tenant, subject, why } = entry
  return [
    clock(at),
    safe(actor),
    safe(address ?? '-'),
    action,
    ...column.cell(tenant),
    safe(subject),
    safe(why),
  ]
}
