import { listRejections } from '../ledger/receipts/rejections.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce rejections [--json] [--dir DIR]

Tells what was refused, by source and reason, with the last case of each and, for signatures, why: what makes them right
was found by trying (a re-serialised body, another secret, a clock). A few cases a second are looked into.`

export const rejections: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, ledgerOptions)
    const rows = await lookingIn(values.dir, ({ pool }) => listRejections(pool))
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
