import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { ListedEvent, ListWindow, RecordedSource } from '../reconcile/contract.ts'
import type { ConfiguredList } from '../reconcile/open-list.ts'
import type { ReconcileProgress } from '../reconcile/options.ts'

/** An event that the provider lists and the ledger lacked. */
export interface MissingEvent {
  readonly key: string
  readonly type: string
  readonly occurredAt: Date
  /** The id that its receipt has or would have. */
  readonly receiptId: string
  /**
   * - `missing`: only reported, because the run records nothing.
   * - `recorded`: recorded by this run.
   * - `arrived`: it arrived while this run read it.
   * - `early`: a delivery of the change may still arrive under another key, so it is not recorded.
   * - `gone`: the provider no longer has its payload.
   */
  readonly outcome: 'missing' | 'recorded' | 'arrived' | 'early' | 'gone'
}

/** The reason why a run ended before the end of the list. */
export interface ReconcileStop {
  readonly reason: 'limit' | 'interrupted' | 'failed'
  readonly message: string
}

export interface ReconcileReport {
  readonly source: string
  readonly provider: string
  readonly mode: 'record' | 'report'
  readonly since: Date
  readonly until: Date
  /** The number of events or objects that the provider listed. */
  readonly listed: number
  /**
   * The number of events of types that no subscriber wants, or that the provider does not send
   * here.
   */
  readonly unwanted: number
  /** The number of events that the ledger already has. */
  readonly arrived: number
  readonly missing: number
  readonly recorded: number
  /** The missing events, in the order of the list. */
  readonly events: readonly MissingEvent[]
  /** The limits of this report. */
  readonly notes: readonly string[]
  /** Undefined: the list was read to its end. */
  readonly stopped: ReconcileStop | undefined
}

/** The report while it is built. */
export interface ReportDraft {
  readonly mode: 'record' | 'report'
  readonly missing: number
  note(...notes: readonly string[]): void
  count(what: 'listed' | 'unwanted' | 'arrived', more: number): void
  /**
   * Called with the time that the run has reached. The list is read from the oldest event to the
   * newest.
   */
  reach(timeMs: number): void
  /** Whether this event was already found missing, such as an earlier delivery of it. */
  has(key: string): boolean
  add(event: ListedEvent, outcome: MissingEvent['outcome']): void
  /** Ends the run here, at the limit or because of this error. */
  stop(error: unknown, signal: AbortSignal): void
  progress(): ReconcileProgress
  report(): ReconcileReport
}

/** Ends a run that has found the maximum number of missing events. */
export class LimitReached extends Error {}

interface DraftOptions {
  readonly source: RecordedSource
  readonly window: ListWindow
  readonly list: ConfiguredList
  readonly mode: 'record' | 'report'
}

export function reportDraft({ source, window, list, mode }: DraftOptions): ReportDraft {
  const counts = { listed: 0, unwanted: 0, arrived: 0 }
  const events = new Map<string, MissingEvent>()
  const notes: string[] = []
  let recorded = 0
  let stopped: ReconcileStop | undefined
  let share: number | undefined
  if (list.listsMs !== undefined && Date.now() - window.sinceMs > list.listsMs)
    notes.push(`${list.name} lists the last ${list.listsMs / 86_400_000} days: older events were not read.`)

  return {
    mode,
    get missing() {
      return events.size
    },
    note: (...more) => void notes.push(...more),
    count(what, more) {
      counts[what] += more
    },
    reach(timeMs) {
      share = (timeMs - window.sinceMs) / (window.untilMs - window.sinceMs)
    },
    has: (key) => events.has(key),
    add({ key, type, occurredAtMs }, outcome) {
      if (outcome === 'recorded') recorded += 1
      const receiptId = source.placeOf(key).id
      events.set(key, { key, type, occurredAt: new Date(occurredAtMs), receiptId, outcome })
    },
    stop(error, signal) {
      stopped = stopOf(error, signal)
    },
    progress: () => ({
      listed: counts.listed,
      missing: events.size,
      recorded,
      ...(share === undefined ? {} : { share }),
    }),
    report: () => ({
      source: source.name,
      provider: source.provider,
      mode,
      since: new Date(window.sinceMs),
      until: new Date(window.untilMs),
      ...counts,
      missing: events.size,
      recorded,
      events: [...events.values()],
      notes,
      stopped,
    }),
  }
}

function stopOf(error: unknown, signal: AbortSignal): ReconcileStop {
  if (error instanceof LimitReached) return { reason: 'limit', message: error.message }
  if (signal.aborted)
    return { reason: 'interrupted', message: 'the run was interrupted: run it again to continue' }
  // Wrong options are a mistake of the caller, and the run has read nothing.
  if (error instanceof HookonceError && error.code === 'CONFIG_INVALID') throw error
  return {
    reason: 'failed',
    message: error instanceof HookonceError ? `${error.message}. ${error.advice}` : textOfThrown(error),
  }
}
