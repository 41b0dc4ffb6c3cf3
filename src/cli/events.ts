import { jobStates, needsOperator } from '../model/job-state.ts'
import { type EventPage, type EventQuery, type EventRow, listEvents } from '../operate/events.ts'
import { isHeldByPause, listPaused, type Paused } from '../operate/pause.ts'
import { requireTenant, sourceNames } from '../operate/sources.ts'
import { parseChoice } from './choices.ts'
import { type Command, ledgerOptions, parse, parseLimit, usageError } from './command.ts'
import { DEMO } from './demo.ts'
import { eventTable } from './event-table.ts'
import { filterOptions, parseFilter } from './filter.ts'
import { printArriving } from './follow-events.ts'
import { type Ledgers, withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { print, printJson, safe } from './print.ts'
import { tenantColumn } from './tenant-column.ts'

const usage = `hookonce events [--state STATE] [--type TYPE] [--key KEY] [--object ID] [--error TEXT] [--source NAME] [--tenant NAME]
                [--subscriber NAME] [--since TIME] [--until TIME] [--limit N] [--after CURSOR] [--follow] [--json] [--dir DIR]

Lists the latest events, newest first, and shows where jobs wait because their source or subscriber is paused.

  --state        events with a job in this state: ${jobStates.join(', ')}
  --type         an event type, or a pattern such as "invoice.*"
  --key          the provider's key of the event
  --object       the id of the object that the event is about, such as in_123
  --error        failed events whose error contains this text; or the GROUP that hookonce failures lists
  --source       a source; acme/stripe is the source stripe of tenant acme
  --subscriber   events on which this subscriber has a job
  --since        received at this time or later: 2h (ago), or 2026-01-31T12:00:00Z
  --until        received before this time
  --after        continues after this event: give its "cursor", which --json prints
  --follow       prints events as they arrive, after the latest 10 or --limit; with --state failed or attention, as jobs
                 reach that state. Ctrl-C ends it and prints where to continue. --json prints one line per event`

export const events: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      ...filterOptions,
      state: { type: 'string' },
      key: { type: 'string' },
      object: { type: 'string' },
      error: { type: 'string' },
      limit: { type: 'string' },
      after: { type: 'string' },
      follow: { type: 'boolean', default: false },
    })
    const choice = { option: '--state', words: jobStates }
    const state =
      values.state === undefined ? undefined : parseChoice({ usage }, { ...choice, text: values.state })
    if (values.error !== undefined && state !== undefined && state !== 'failed')
      throw usageError({ usage }, '--error finds failed events: leave --state out')
    const { key, object, error, after } = values
    const query: EventQuery = {
      ...parseFilter({ usage }, values),
      state,
      key,
      object,
      error,
      after,
      limit: parseLimit({ usage }, values.limit ?? (values.follow ? '10' : '50')),
    }
    if (values.follow) return follow(values, query)
    return list(values, query)
  },
}

interface Shown {
  readonly dir: string
  readonly json: boolean
}

async function list({ dir, json }: Shown, query: EventQuery): Promise<void> {
  await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, query.tenant)
    const page = await fullPage(ledger, query)
    if (json) return printJson(page.events)
    if (page.events.length === 0) return print(noEvents(query, await sourceNames(ledger)))
    print(eventTable(await tenantColumn(ledger)).whole(page.events))
    const paused = await listPaused(ledger)
    const holding = paused.filter((one) => page.events.some((event) => mayHold(one, event)))
    if (holding.length > 0) print(['', ...holding.map(pausedLine)].join('\n'))
  })
}

async function follow(
  { dir, json }: Shown,
  { key, until, state, limit, ...query }: EventQuery,
): Promise<void> {
  if (key !== undefined) throw usageError({ usage }, '--key names one event: leave --follow out')
  if (until !== undefined) throw usageError({ usage }, '--until and --follow exclude each other')
  if (state !== undefined && !needsOperator(state))
    throw usageError(
      { usage },
      'with --follow, --state must be failed or attention: jobs leave the other states too soon',
    )
  await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, query.tenant)
    await printArriving(ledger, { ...query, state, latest: limit }, { json })
  })
}

/** A page may end early if few events match: continues until it is full, or the history ends. */
async function fullPage(ledger: Ledgers, query: EventQuery): Promise<EventPage> {
  let page = await listEvents(ledger, query)
  while (page.next !== undefined && page.events.length < query.limit) {
    const limit = query.limit - page.events.length
    const more = await listEvents(ledger, { ...query, limit, after: page.next })
    page = { events: [...page.events, ...more.events], next: more.next }
  }
  return page
}

function noEvents({ source, limit: _, ...filter }: EventQuery, sources: readonly string[]): string {
  if (source !== undefined && !sources.includes(source))
    return safe(`no source "${source}" has events (the ledger knows ${sources.join(', ') || 'none'})`)
  if (Object.values(filter).some((value) => value !== undefined)) return 'no events match'
  if (source !== undefined) return safe(`no events of ${source} yet`)
  const sample = sources.includes(DEMO) ? DEMO : '<provider>'
  return `no events yet: \`hookonce trigger ${sample}\` sends a signed sample event`
}

/** An event lists the states of its jobs, but not their subscribers. */
function mayHold({ tenant, source }: Paused, event: EventRow): boolean {
  return event.tenant === tenant && event.source === source && event.states.some(isHeldByPause)
}
