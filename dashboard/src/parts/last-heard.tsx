import type { ItemOf } from 'hookonce/client'
import { texts } from '../texts.ts'
import { Time } from './time.tsx'

const words = texts.sources

/** When a source delivered last. Beside a busy source, only the counts of deliveries show it. */
export function LastHeard({
  source: { lastEvent, lastHeardAt },
}: {
  readonly source: Pick<ItemOf<'/sources'>, 'lastEvent' | 'lastHeardAt'>
}) {
  const at = lastEvent?.receivedAt ?? lastHeardAt
  if (at === null)
    return (
      <span class="muted" title={words.notLatelyTitle}>
        {words.notLately}
      </span>
    )
  return (
    <span class="muted">
      <Time at={at} />
    </span>
  )
}
