import { type EventRow, listEvents } from '../ledger/read/receipts.ts'
import { type Registered, registered } from '../ledger/read/registered.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { isWaiting, pausedLine, pausedOf } from './paused-line.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce events [--source NAME] [--limit N] [--json] [--dir DIR]

Lists the latest events, newest first, and says where jobs wait because their source or subscriber is paused.`

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
    const { source } = values
    const { rows, known } = await lookingIn(values.dir, async (ledger) => ({
      rows: await listEvents(ledger.pool, { shards: ledger.shards, limit, source }),
      known: await registered(ledger),
    }))
    if (values.json) return printJson(rows)
    if (rows.length === 0) return print(noEvents(known, source))
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
    const holding = pausedOf(known).filter((paused) => rows.some((row) => mayHold(paused, row)))
    if (holding.length > 0) print(['', ...holding.map(pausedLine)].join('\n'))
  },
}

function noEvents(known: readonly Registered[], source: string | undefined): string {
  if (source === undefined) return 'no events yet'
  const names = [...new Set(known.map((one) => one.source))]
  if (names.includes(source)) return safe(`no events of ${source} yet`)
  return safe(`no source "${source}" has events (the ledger knows ${names.join(', ') || 'none'})`)
}

/** A row tells the states of its jobs, not whose they are. */
function mayHold({ tenant, source }: Registered, row: EventRow): boolean {
  return row.tenant === tenant && row.source === source && row.states.some(isWaiting)
}
