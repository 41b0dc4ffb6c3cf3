import { listEvents } from '../ledger/inspect.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './looking.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce events [--source NAME] [--limit N] [--json] [--dir DIR]

Lists the latest events, newest first.`

export const events: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      source: { type: 'string' },
      limit: { type: 'string', default: '50' },
    })
    const limit = Number(values.limit)
    if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
      throw usageError({ usage }, '--limit must be a number from 1 to 10000')
    const rows = await lookingIn(values.dir, ({ pool, shards }) =>
      listEvents(pool, { shards, limit, source: values.source }),
    )
    if (values.json) return printJson(rows)
    if (rows.length === 0) return print('no events yet')
    print(
      table(
        ['RECEIVED', 'SOURCE', 'TYPE', 'KEY', 'JOBS', 'DUPLICATES', 'RECEIPT'],
        rows.map((row) => [
          clock(row.receivedAt),
          row.source,
          safe(row.eventType),
          safe(row.eventKey).slice(0, 40),
          row.states.join(',') || '-',
          row.mismatches > 0
            ? `${row.duplicates} (${row.mismatches} with another body)`
            : String(row.duplicates),
          row.id,
        ]),
      ),
    )
  },
}
