import type { LedgerTables } from '../ledger/ledger.ts'
import { existingReceipts, knownObjects } from '../ledger/read/arrived.ts'
import { MINUTE_MS } from '../model/durations.ts'
import type {
  ChangedObject,
  ListedEvent,
  ListWindow,
  OpenList,
  RecordedSource,
} from '../reconcile/contract.ts'
import type { ReportDraft } from './reconcile-report.ts'

interface MissingQuestion {
  readonly source: RecordedSource
  readonly window: ListWindow
  readonly opened: OpenList
  readonly draft: ReportDraft
}

/** The events that the ledger lacks, page by page. Known events are only counted in the report. */
export async function* missingPages(
  ledger: LedgerTables,
  question: MissingQuestion,
): AsyncGenerator<readonly ListedEvent[]> {
  const { pages } = question.opened
  if (pages.of === 'events') {
    for await (const page of pages.read()) yield missingEvents(ledger, question, page)
  } else {
    for await (const page of pages.read()) yield missingChanges(ledger, question, page)
  }
}

/**
 * Searches by event key: the id of a receipt is derived from the key, so it is known before the
 * event is recorded.
 */
async function missingEvents(
  ledger: LedgerTables,
  { source, window, opened, draft }: MissingQuestion,
  page: readonly ListedEvent[],
): Promise<ListedEvent[]> {
  const wanted = page.filter(({ type }) => window.wants(type) && (opened.sends?.(type) ?? true))
  draft.count('listed', page.length)
  draft.count('unwanted', page.length - wanted.length)
  if (page.length > 0) draft.reach(Math.max(...page.map(({ occurredAtMs }) => occurredAtMs)))
  // A list may have several deliveries of one event.
  const events = new Map(wanted.map((event) => [event.key, event]))
  const places = new Map([...events.keys()].map((key) => [key, source.placeOf(key)]))
  const existing = await existingReceipts(ledger.pool, [...places.values()])
  const missing = [...events.values()].filter(({ key }) => !existing.has(places.get(key)?.id ?? ''))
  draft.count('arrived', events.size - missing.length)
  return missing.filter(({ key }) => !draft.has(key))
}

/** The time in a delivery may come from a clock that differs from the ledger's clock. */
const CLOCK_SKEW_MS = 15 * MINUTE_MS

/** Searches by object and time, because the list has no keys. */
async function missingChanges(
  { pool, shards }: LedgerTables,
  { source, window, draft }: MissingQuestion,
  page: readonly ChangedObject[],
): Promise<ListedEvent[]> {
  draft.count('listed', page.length)
  const known = await knownObjects(pool, {
    shards,
    // No event about a change within the window can have arrived before the window.
    since: new Date(window.sinceMs - CLOCK_SKEW_MS),
    tenant: source.tenant,
    source: source.name,
    objectIds: page.map(({ objectId }) => objectId),
  })
  const missing = page.flatMap((object) => {
    const ofObject = known.filter(
      ({ objectId, type }) => objectId === object.objectId && type.startsWith(object.typePrefix),
    )
    const types = new Map(ofObject.map(({ type, occurredAtMs }) => [type, occurredAtMs]))
    return object.missing(types, window.wants) ?? []
  })
  draft.count('arrived', page.length - missing.length)
  return missing.filter(({ key }) => !draft.has(key))
}
