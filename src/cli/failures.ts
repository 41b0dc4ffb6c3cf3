import { type FailureGroup, listFailures } from '../operate/failures.ts'
import { requireKnown } from '../operate/sources.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { filterOptions, parseFilter } from './filter.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce failures [--source NAME] [--subscriber NAME] [--type TYPE] [--since TIME] [--until TIME] [--json] [--dir DIR]

Groups failed jobs by source, subscriber and error, the largest group first, with one receipt of each to show. Errors that
differ only in ids are one group. --since and --until are times of the failure: 2h (ago), or 2026-01-31T12:00:00Z.`

export const failures: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, { ...ledgerOptions, ...filterOptions })
    const filter = parseFilter({ usage }, values)
    const found = await withLedger(values.dir, async (ledger) => {
      await requireKnown(ledger, filter)
      return listFailures(ledger, filter)
    })
    if (values.json) return printJson(found)
    if (found.groups.length === 0) return print('no failed jobs')
    print(table(['JOBS', 'SOURCE', 'SUBSCRIBER', 'LAST', 'RECEIPT', 'ERROR'], found.groups.map(cells)))
    if (!found.isComplete) print('\nolder failures are not counted: narrow them with --since and --until')
  },
}

function cells({ jobs, source, subscriber, lastAt, receiptIds, error }: FailureGroup): string[] {
  return [String(jobs), safe(source), safe(subscriber), clock(lastAt), receiptIds[0] ?? '-', safe(error)]
}
