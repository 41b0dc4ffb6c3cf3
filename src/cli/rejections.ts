import { listRejections } from '../operate/rejections.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce rejections [--json] [--dir DIR]

Lists refused deliveries by source and reason, with the last case of each. For a wrong signature it shows the cause that
was found by trying: a re-serialised body, another secret, a wrong clock. A few cases per second are diagnosed.`

export const rejections: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, ledgerOptions)
    const rows = await withLedger(values.dir, (ledger) => listRejections(ledger))
    if (values.json) return printJson(rows)
    if (rows.length === 0) return print('nothing was refused')
    print(
      table(
        ['LAST', 'SOURCE', 'REASON', 'COUNT', 'LAST CASE, AND WHY'],
        rows.flatMap(({ lastAt, source, code, count, lastDetail, diagnosis }) => [
          [clock(lastAt), source, code, String(count), safe(lastDetail)],
          ...(diagnosis === '' ? [] : [['', '', '', '', safe(diagnosis)]]),
        ]),
      ),
    )
  },
}
