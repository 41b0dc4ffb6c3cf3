import { jobStates } from '../model/job-state.ts'
import { type EventPage, type EventQuery, type EventRow, listEvents } from '../operate/events.ts'
import { isHeldByPause, listPaused, type Paused } from '../operate/pause.ts'
import { sourceNames } from '../operate/sources.ts'
import { type Command, ledgerOptions, parse, parseLimit, usageError } from './command.ts'
import { filterOptions, parseFilter } from './filter.ts'
import { type Ledger, withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce events [--source NAME] [--subscriber NAME] [--state STATE] [--type TYPE] [--since TIME] [--until TIME]
                [--limit N] [--after CURSOR] [--json] [--dir DIR]

Lists the latest events, newest first, and says where jobs wait because their source or subscriber is paused.

  --subscriber   events on which this subscriber has a job
  --state        events with a job in this state: ${jobStates.join(', ')}
  --type         an event type, or a pattern such as "invoice.*"
  --since        received at this time or later: 2h (ago), or 2026-01-31T12:00:00Z
  --until        received before this time
  --after        goes on after this event: give its "cursor", which --json prints`

export const events: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      ...filterOptions,
      state: { type: 'string' },
      limit: { type: 'string', default: '50' },
      after: { type: 'string' },
    })
    const state = jobStates.find((one) => one === values.state)
    if (values.state !== undefined && state === undefined)
      throw usageError({ usage }, `--state is one of ${jobStates.join(', ')}, not "${values.state}"`)
    const query: EventQuery = {
      ...parseFilter({ usage }, values),
      state,
      limit: parseLimit({ usage }, values.limit),
      after: values.after,
    }
    const { page, paused, sources } = await withLedger(values.dir, async (ledger) => ({
      page: await fullPage(ledger, query),
      paused: await listPaused(ledger),
      sources: await sourceNames(ledger),
    }))
    if (values.json) return printJson(page.events)
    if (page.events.length === 0) return print(noEvents(query, sources))
    print(
      table(['RECEIVED', 'SOURCE', 'TYPE', 'KEY', 'JOBS', 'DUPLICATES', 'RECEIPT'], page.events.map(cells)),
    )
    const holding = paused.filter((one) => page.events.some((event) => mayHold(one, event)))
    if (holding.length > 0) print(['', ...holding.map(pausedLine)].join('\n'))
  },
}

/** A page may end early where few events match: goes on until it is full, or history ends. */
async function fullPage(ledger: Ledger, query: EventQuery): Promise<EventPage> {
  let page = await listEvents(ledger, query)
  while (page.next !== undefined && page.events.length < query.limit) {
    const limit = query.limit - page.events.length
    const more = await listEvents(ledger, { ...query, limit, after: page.next })
    page = { events: [...page.events, ...more.events], next: more.next }
  }
  return page
}

function cells(event: EventRow): string[] {
  const { duplicates, mismatches } = event
  return [
    clock(event.receivedAt),
    event.source,
    safe(event.eventType),
    safe(event.eventKey).slice(0, 40),
    event.states.join(',') || '-',
    mismatches > 0 ? `${duplicates} (${mismatches} with another body)` : String(duplicates),
    event.id,
  ]
}

function noEvents({ source, limit: _, ...filter }: EventQuery, sources: readonly string[]): string {
  if (source !== undefined && !sources.includes(source))
    return safe(`no source "${source}" has events (the ledger knows ${sources.join(', ') || 'none'})`)
  if (Object.values(filter).some((value) => value !== undefined)) return 'no events match'
  return source === undefined ? 'no events yet' : safe(`no events of ${source} yet`)
}

/** An event lists the states of its jobs, but not their subscribers. */
function mayHold({ tenant, source }: Paused, event: EventRow): boolean {
  return event.tenant === tenant && event.source === source && event.states.some(isHeldByPause)
}
