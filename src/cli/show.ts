import { HookonceError } from '../model/errors.ts'
import { eventAsTest } from '../operate/as-test/event-as-test.ts'
import { type EventRow, findEvents } from '../operate/events.ts'
import { type EventChain, readEvent } from '../operate/receipt.ts'
import { type Command, ledgerOptions, parse, parseTime, usageError } from './command.ts'
import { eventTable } from './event-table.ts'
import { eventText } from './event-text.ts'
import { parseSource, requireNames } from './filter.ts'
import { withLedger } from './open-ledger.ts'
import { print, printJson, safe } from './print.ts'
import { tenantColumn, tenantOption } from './tenant-column.ts'

const usage = `hookonce show <receipt id | event key | object id> [--source NAME] [--tenant NAME] [--since TIME]
              [--stack] [--as-test] [--hooks FILE] [--json] [--dir DIR]

Shows one event: its deliveries, jobs, attempts, errors, steps, effects, messages, decisions and body. For each job that
is not finished it shows when the next attempt is due, which worker runs it, or what holds it.

Name the event by the id of its receipt or the beginning of it, by the provider's event key, or by the id of the object that
it is about. If several events match, they are listed.

  --stack   shows for each failed attempt where its error was thrown; --json always does
  --as-test prints a test for vitest and hookonce/testing instead: it delivers this event as often as it arrived, and
            expects the states of its jobs and its effects
  --hooks   the module that exports your hooks, as the test imports it; default ./hooks.ts
  --since   looks for objects since this time only: 2h (ago), or 2026-01-31T12:00:00Z. There is no index of objects`

const options = {
  ...ledgerOptions,
  ...tenantOption,
  source: { type: 'string' },
  since: { type: 'string' },
  stack: { type: 'boolean' },
  'as-test': { type: 'boolean', default: false },
  hooks: { type: 'string' },
} as const

/** The number of events that are listed if several match. */
const MAX_LISTED = 20

export const show: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, options)
    const [name] = positionals
    if (!name) throw usageError({ usage }, 'give the id of a receipt, an event key or the id of an object')
    const { since, hooks, 'as-test': isTest } = values
    if (hooks !== undefined && !isTest) throw usageError({ usage }, '--hooks belongs to --as-test')
    if (isTest && values.stack) throw usageError({ usage }, '--stack does not go with --as-test')
    const filter = {
      ...parseSource({ usage }, values),
      since: since === undefined ? undefined : parseTime({ usage }, since),
    }
    await withLedger(values.dir, async (ledger) => {
      await requireNames(ledger, filter)
      const found = await findEvents(ledger, name, { ...filter, limit: MAX_LISTED + 1 })
      const [first, second] = found
      if (!first)
        throw new HookonceError(
          'RECEIPT_UNKNOWN',
          `no event has the receipt id, event key or object id "${name}"`,
        )
      if (!second) {
        const event = await readEvent(ledger, first.id)
        if (isTest) return printTest(eventAsTest(event, { hooks }), values.json ? event : undefined)
        if (values.json) return printJson(eventJson(event))
        return print(eventText(event, { stacks: values.stack === true }))
      }
      const events = found.slice(0, MAX_LISTED)
      if (values.json) return printJson({ matches: events })
      print(eventTable(await tenantColumn(ledger)).whole(events))
      print(`\n${severalText(name, found)}`)
    })
  },
}

/** Prints the test as a file for redirection, or as JSON if the event is given. */
function printTest(test: string, event: EventChain | undefined): void {
  if (event) printJson({ id: event.receipt.id, test })
  else print(test.trimEnd())
}

function severalText(name: string, found: readonly EventRow[]): string {
  const count = found.length > MAX_LISTED ? `more than ${MAX_LISTED}` : String(found.length)
  const sources = new Set(found.map(({ tenant, source }) => `${tenant}/${source}`))
  const narrow = sources.size > 1 ? ', or narrow them with --source' : ''
  return safe(`${count} events match "${name}": show one of them by its receipt${narrow}`)
}

function eventJson({ receipt, paused: _, ...chain }: EventChain): unknown {
  const { body, bodyExpired: __, unreadable, ...facts } = receipt
  return {
    ...facts,
    ...chain,
    // Base64 can hold any body. A body that is text is also printed as text.
    body: body?.toString('utf8') ?? null,
    bodyBase64: body?.toString('base64') ?? null,
    unreadable: unreadable && { code: unreadable.code, message: unreadable.message },
  }
}
