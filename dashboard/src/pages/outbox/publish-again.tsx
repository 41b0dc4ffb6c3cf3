import { client, newKey } from '../../api.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import type { Message } from './message-facts.tsx'

const words = texts.outbox.again

interface DialogCallbacks {
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Publishes one finished message again. */
export function PublishAgain({ message, onClose, onDone }: DialogCallbacks & { readonly message: Message }) {
  const { id, topic, key, state } = message
  async function publish(why: string): Promise<void> {
    const { replayed } = await client.post('/outbox/{id}/replay', {
      params: { id },
      body: { why },
      idempotencyKey: newKey(),
    })
    toast(replayed ? words.notice(topic) : words.notYet)
    onDone()
  }
  return (
    <PlanDialog title={words.title(topic)} verb={words.verb} onConfirm={publish} onClose={onClose}>
      <dl class="consequence">
        <dt>{words.sameId}</dt>
        <dd>
          {words.sameIdHint} <code>{id}</code>
        </dd>
        <dt>{key === null ? words.alone : words.behind(key)}</dt>
        <dd>{key === null ? words.aloneHint : words.behindHint}</dd>
        {state === 'published' && [<dt key="dt">{words.twice}</dt>, <dd key="dd">{words.twiceHint}</dd>]}
        <dt>{words.nothingElse}</dt>
        <dd>{words.nothingElseHint}</dd>
      </dl>
    </PlanDialog>
  )
}

interface Failed {
  readonly topic: string
  /** The number of listed messages. */
  readonly count: number
  readonly hasMore: boolean
}

/** Publishes the failed messages of one topic, or of all topics, again. */
export function PublishFailed({ topic, count, hasMore, onClose, onDone }: DialogCallbacks & Failed) {
  async function publish(why: string): Promise<void> {
    const body = { why, ...(topic === '' ? {} : { topic }) }
    const { replayed, isComplete } = await client.post('/outbox/replay', { body, idempotencyKey: newKey() })
    toast(words.toldAll(replayed, isComplete))
    onDone()
  }
  return (
    <PlanDialog title={words.titleAll(topic)} verb={words.verb} onConfirm={publish} onClose={onClose}>
      <dl class="consequence">
        <dt>{words.all(count, hasMore)}</dt>
        <dd>{words.allHint}</dd>
        <dt>{words.sameId}</dt>
        <dd>{words.sameIdAllHint}</dd>
        <dt>{words.nothingElse}</dt>
        <dd>{words.nothingElseHint}</dd>
      </dl>
    </PlanDialog>
  )
}
