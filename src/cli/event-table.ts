import type { EventRow } from '../operate/events.ts'
import { clock, padded, safe, table } from './print.ts'
import { stateText } from './state-text.ts'
import { styleOf } from './style.ts'
import type { TenantColumn } from './tenant-column.ts'

/** A list of events, newest first or as they arrive. */
export interface EventTable {
  readonly whole: (events: readonly EventRow[]) => string
  /** For an endless list: columns have a fixed width, because the longest value is unknown. */
  readonly head: () => string
  readonly row: (event: EventRow) => string
}

/**
 * RECEIVED, TENANT, SOURCE, TYPE, KEY, JOBS, DUPLICATES; the receipt is last and needs no width.
 */
const WIDTHS = { RECEIVED: 19, TENANT: 10, SOURCE: 12, TYPE: 26, KEY: 28, JOBS: 20, DUPLICATES: 10 }
const HEAD = ['SOURCE', 'TYPE', 'KEY', 'JOBS', 'DUPLICATES', 'RECEIPT']

export function eventTable(column: TenantColumn): EventTable {
  const head = ['RECEIVED', ...column.head, ...HEAD]
  const line = (cells: readonly string[]): string =>
    cells.map((cell, place) => padded(cell, WIDTHS[head[place] as keyof typeof WIDTHS] ?? 0)).join('  ')
  return {
    whole: (events) =>
      table(
        head,
        events.map((event) => cells(event, column)),
      ),
    head: () => line(head),
    row: (event) => line(cells(event, column)),
  }
}

const style = styleOf(process.stdout)

function cells(event: EventRow, column: TenantColumn): string[] {
  const { duplicates, mismatches } = event
  return [
    clock(event.receivedAt),
    ...column.cell(event.tenant),
    safe(event.source),
    safe(event.eventType),
    safe(event.eventKey).slice(0, 40),
    event.states.map((state) => stateText(state, style)).join(',') || '-',
    mismatches > 0 ? `${duplicates} (${mismatches} with another body)` : String(duplicates),
    event.id,
  ]
}
