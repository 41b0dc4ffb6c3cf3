import type { MissingEvent, ReconcileReport } from '../operate/reconcile-report.ts'
import type { ReconcileProgress } from '../reconcile/options.ts'
import { clock, safe, table } from './print.ts'
import type { Step } from './progress.ts'

/** More rows are too many to read. --json prints all. */
const MAX_ROWS = 50

export function reportText(report: ReconcileReport): string {
  const { source, since, until, events, notes, stopped } = report
  const rows = events.slice(0, MAX_ROWS).map(eventCells)
  const left = events.length - rows.length
  return [
    ...(rows.length === 0 ? [] : [table(['OCCURRED', 'TYPE', 'EVENT KEY', 'RECEIPT', 'OUTCOME'], rows)]),
    ...(left > 0 ? [`… and ${left} more (--json lists them)`] : []),
    ...(rows.length === 0 ? [] : ['']),
    `${source}, ${clock(since)} to ${clock(until)}: ${countsText(report)}`,
    ...notes.map((note) => `note: ${note}`),
    ...(stopped ? [`not complete: ${stopped.message}`] : []),
  ].join('\n')
}

function eventCells({ occurredAt, type, key, receiptId, outcome }: MissingEvent): string[] {
  return [clock(occurredAt), safe(type), safe(key), receiptId, outcome]
}

function countsText({ listed, unwanted, arrived, missing, recorded, mode, events }: ReconcileReport): string {
  const gone = events.filter(({ outcome }) => outcome === 'gone').length
  const early = events.filter(({ outcome }) => outcome === 'early').length
  return [
    `${listed} listed`,
    `${unwanted} not wanted`,
    `${arrived} arrived`,
    `${missing} missing`,
    ...(mode === 'record' ? [`${recorded} recorded`] : ['nothing recorded']),
    ...(gone > 0 ? [`${gone} without a payload`] : []),
    ...(early > 0 ? [`${early} may still arrive`] : []),
  ].join(', ')
}

/** Shows a wait for the API at once. Otherwise the run would look stuck. */
export function reconcileStep({
  listed,
  missing,
  recorded,
  share,
  wait,
}: ReconcileProgress): Omit<Step, 'noun'> {
  const waiting = wait ? `, waiting ${Math.ceil(wait.waitMs / 1_000)} s: ${wait.why}` : ''
  const note = `${missing} missing, ${recorded} recorded${waiting}`
  return { done: listed, note, share, isUrgent: wait !== undefined }
}
