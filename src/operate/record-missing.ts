import type { ListedDelivery, ListedEvent, RecordedSource } from '../reconcile/contract.ts'
import type { ConfiguredList } from '../reconcile/open-list.ts'
import type { ReconcileProgress } from '../reconcile/options.ts'
import { LimitReached, type ReportDraft } from './reconcile-report.ts'

interface RecordRun {
  readonly source: RecordedSource
  readonly list: ConfiguredList
  readonly options: {
    readonly limit: number
    readonly onProgress?: ((progress: ReconcileProgress) => void) | undefined
  }
  readonly pages: AsyncIterable<readonly ListedEvent[]>
  readonly draft: ReportDraft
  readonly signal: AbortSignal
}

/** The number of events and bytes that are read before they are recorded together. */
const MAX_BATCH = 100
const MAX_BATCH_BYTES = 8 * 1024 * 1024

type ReadEvent = ListedEvent & ListedDelivery

/** Records the missing events in the order of the list, or only reports them. */
export async function recordInBatches(run: RecordRun): Promise<void> {
  const { list, options, pages, draft, signal } = run
  const settledMs = Date.now() - list.settlesMs
  // A second report would find the same events again, so nothing is noted.
  const more = draft.mode === 'record' ? ': run again for the rest' : ''
  for await (const page of pages) {
    const batch: ReadEvent[] = []
    try {
      for (const event of page) {
        signal.throwIfAborted()
        if (draft.missing + batch.length >= options.limit)
          throw new LimitReached(`the limit of ${options.limit} missing events is reached${more}`)
        if (event.occurredAtMs > settledMs) draft.add(event, 'early')
        else if (draft.mode === 'report') draft.add(event, 'missing')
        else {
          const delivery = await event.read()
          if (delivery) batch.push({ ...event, ...delivery })
          else draft.add(event, 'gone')
          if (isFull(batch)) await recordBatch(run, batch.splice(0))
        }
        options.onProgress?.(draft.progress())
      }
    } finally {
      // Records the events read so far, even if the run stops here.
      await recordBatch(run, batch)
    }
    options.onProgress?.(draft.progress())
  }
}

function isFull(batch: readonly ReadEvent[]): boolean {
  const bytes = batch.reduce((sum, { body }) => sum + body.byteLength, 0)
  return batch.length >= MAX_BATCH || bytes >= MAX_BATCH_BYTES
}

/**
 * Starts all of them in order without waiting, so that they share a commit and keep their order.
 */
async function recordBatch({ source, draft }: RecordRun, batch: readonly ReadEvent[]): Promise<void> {
  const readAt = new Date()
  const outcomes = await Promise.allSettled(
    batch.map(({ key, headers, body }) => source.record({ key, headers, body, readAt })),
  )
  for (const [index, event] of batch.entries()) {
    const outcome = outcomes[index]
    if (outcome?.status !== 'fulfilled') continue
    if (outcome.value === 'unwanted') draft.count('unwanted', 1)
    else draft.add(event, outcome.value === 'recorded' ? 'recorded' : 'arrived')
  }
  const failure = outcomes.find(({ status }) => status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
}
