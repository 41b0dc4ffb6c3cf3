import { useState } from 'preact/hooks'
import { client, explain, newKey } from '../../api.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { isFinished } from '../../parts/worst-state.ts'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import type { ListedEvent } from './columns.tsx'

const words = texts.events.replaySelected

/**
 * The limit on selected events: each event is one request. For more events, use the replay of all
 * matching events.
 */
const MAX_SELECTED = 500
const AT_ONCE = 4

export interface ReplaySelectedProps {
  readonly events: readonly ListedEvent[]
  readonly onClose: () => void
  readonly onDone: () => void
}

export function ReplaySelected({ events, onClose, onDone }: ReplaySelectedProps) {
  const [done, setDone] = useState(0)
  const isTooMany = events.length > MAX_SELECTED
  const unfinished = events.filter(({ states }) => !states.some(isFinished))

  async function confirm(why: string): Promise<void> {
    const waiting = [...events]
    const faults: unknown[] = []
    let jobs = 0
    const work = async (): Promise<void> => {
      for (let event = waiting.shift(); event; event = waiting.shift()) {
        try {
          const params = { id: event.id }
          const answer = await client.post('/events/{id}/replay', {
            params,
            body: { why },
            idempotencyKey: newKey(),
          })
          jobs += answer.jobs
        } catch (error) {
          faults.push(error)
        }
        setDone((count) => count + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    onDone()
    // No event was replayed, so the dialog stays open and shows the reason.
    if (faults.length === events.length) throw faults[0]
    toast(words.replayed(jobs))
    if (faults.length > 0) toast(words.failed(faults.length, explain(faults[0])), { isBad: true })
  }

  return (
    <PlanDialog
      title={words.title(events.length)}
      verb={done > 0 ? words.progress(done, events.length) : words.verb}
      isReady={!isTooMany && events.length > 0}
      onConfirm={confirm}
      onClose={onClose}
    >
      <dl class="consequence">
        <dt>{words.willRun}</dt>
        <dd>{words.willRunText}</dd>
        <dt>{words.willNot}</dt>
        <dd>{words.willNotText}</dd>
        {unfinished.length > 0 && [
          <dt key="name">{words.stay}</dt>,
          <dd key="value">{words.stayText(unfinished.length)}</dd>,
        ]}
      </dl>
      {isTooMany && <p class="fault">{words.tooMany(MAX_SELECTED)}</p>}
    </PlanDialog>
  )
}
