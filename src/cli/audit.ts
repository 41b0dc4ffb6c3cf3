import { type ListedAudit, listAudit } from '../operate/audit.ts'
import { type Command, ledgerOptions, parse, parseLimit } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce audit [--tenant NAME] [--limit N] [--after ID] [--json] [--dir DIR]

Lists the decisions of operators, newest first: who decided what, when and why.
--after goes on after the entry with this id, which --json prints.`

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
    const { entries } = await withLedger(values.dir, (ledger) => listAudit(ledger, { tenant, limit, after }))
    if (values.json) return printJson(entries)
    if (entries.length === 0) return print('no decisions')
    print(table(['DECIDED', 'BY', 'WHAT', 'TENANT', 'ON', 'WHY'], entries.map(cells)))
  },
}

function cells({ at, actor, action, tenant, subject, why }: ListedAudit): string[] {
  return [clock(at), safe(actor), action, safe(tenant), safe(subject), safe(why)]
}
