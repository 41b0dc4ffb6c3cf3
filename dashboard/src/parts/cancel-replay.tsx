import type { ResponseOf } from 'hookonce/client'
import { client, newKey } from '../api.ts'
import { texts } from '../texts.ts'
import { PlanDialog } from './dialog.tsx'

const words = texts.failures.replays

export type Replay = ResponseOf<'GET', '/replays/{id}'>

export interface CancelReplayProps {
  readonly replay: Replay
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Shows the consequences before a replay of many jobs is cancelled. */
export function CancelReplay({ replay, onClose, onDone }: CancelReplayProps) {
  const { id, name, replayed, expected } = replay
  async function cancel(why: string): Promise<void> {
    await client.post('/replays/{id}/cancel', { params: { id }, body: { why }, idempotencyKey: newKey() })
    onDone()
  }
  return (
    <PlanDialog title={words.cancelTitle(name)} verb={words.cancel} onConfirm={cancel} onClose={onClose}>
      <dl class="consequence">
        <dt>{words.stay(replayed)}</dt>
        <dd>{words.stayHint}</dd>
        <dt>{words.stop(Math.max(0, expected - replayed))}</dt>
        <dd>{words.stopHint}</dd>
      </dl>
    </PlanDialog>
  )
}
