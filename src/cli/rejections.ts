import { listRejections, type Rejection, rejectedSources } from '../operate/rejections.ts'
import { requireTenant } from '../operate/sources.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { tenantOption } from './tenant-column.ts'

const usage = `hookonce rejections [--source NAME] [--tenant NAME] [--json] [--dir DIR]

Lists refused deliveries by source and reason, with the last case of each. For a wrong signature it shows the cause that
was found by trying: a re-serialised body, another secret, a wrong clock. A few cases per second are diagnosed.

  --source   a source as its configuration names it; (unknown) stands for names that no source has
  --tenant   sources that only this tenant has: refusals are counted by the source's name`

export const rejections: Command = {
  usage,
  async run(args) {
    const options = { ...ledgerOptions, ...tenantOption, source: { type: 'string' } } as const
    const { values } = parse({ usage }, args, options)
    const { source, tenant } = values
    const { rows, others } = await withLedger(values.dir, async (ledger) => {
      await requireTenant(ledger, tenant)
      return {
        rows: await listRejections(ledger, { source, tenant }),
        others: source === undefined ? [] : await rejectedSources(ledger),
      }
    })
    if (values.json) return printJson(rows)
    if (rows.length > 0) return print(asText(rows))
    if (source === undefined) return print('nothing was refused')
    print(
      safe(`no delivery of "${source}" was refused (sources with refusals: ${others.join(', ') || 'none'})`),
    )
  },
}

function asText(rows: readonly Rejection[]): string {
  return table(
    ['LAST', 'SOURCE', 'REASON', 'COUNT', 'LAST CASE, AND WHY'],
    rows.flatMap(({ lastAt, source, code, count, lastDetail, diagnosis }) => [
      [clock(lastAt), safe(source), code, String(count), safe(lastDetail)],
      ...(diagnosis === '' ? [] : [['', '', '', '', safe(diagnosis)]]),
    ]),
  )
}
