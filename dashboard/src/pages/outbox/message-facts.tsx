import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, canReadBodies, client } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { Copy } from '../../parts/copy.tsx'
import { Fact, Facts } from '../../parts/expand-table.tsx'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { Time } from '../../parts/time.tsx'
import { href } from '../../router.ts'
import { texts } from '../../texts.ts'

export type Message = ItemOf<'/outbox'>

const words = texts.outbox

/** One message. Its payload is read on request: the audit records each view. */
export function MessageFacts({
  message,
  onAgain,
}: {
  readonly message: Message
  readonly onAgain: () => void
}) {
  const [isShown, setShown] = useState(false)
  const { id, topic, key, receiptId, state, attempts, reason, dueAt, createdAt, finishedAt } = message
  const isFinished = state === 'published' || state === 'failed'
  return (
    <>
      {reason !== null && <pre class="block">{reason}</pre>}
      <Facts>
        <Fact name={words.facts.message}>
          <Copy text={id} />
        </Fact>
        <Fact name={words.facts.topic}>
          <code>{topic}</code>
        </Fact>
        {key !== null && (
          <Fact name={words.facts.key}>
            <Copy text={key} />
          </Fact>
        )}
        <Fact name={words.facts.event}>
          <a class="link mono" href={href(`/events/${receiptId}`)}>
            {receiptId.slice(0, 8)}
          </a>
        </Fact>
        <Fact name={words.facts.created}>
          <Time at={createdAt} as="clock" />
        </Fact>
        {finishedAt !== null && (
          <Fact name={words.facts.finished[state === 'failed' ? 'failed' : 'published']}>
            <Time at={finishedAt} as="clock" />
          </Fact>
        )}
        {attempts > 0 && <Fact name={words.columns.attempts}>{attempts}</Fact>}
        {!isFinished && (
          <Fact name={words.columns.next}>{dueAt === null ? words.waitsBehind : <Time at={dueAt} />}</Fact>
        )}
      </Facts>
      {isShown && <Payload id={id} />}
      <div class="actions">
        {isFinished && canOperate.value && (
          <button type="button" class="first" onClick={onAgain}>
            {words.publishAgain}… <kbd>r</kbd>
          </button>
        )}
        {canReadBodies.value && !isShown && (
          <button type="button" title={words.payloadHint} onClick={() => setShown(true)}>
            {words.payload}
          </button>
        )}
      </div>
    </>
  )
}

function Payload({ id }: { readonly id: string }) {
  const { data, error, reload } = useResource(
    (signal) => client.get('/outbox/{id}', { params: { id }, signal }),
    [id],
  )
  if (!data) return error === undefined ? <Skeleton rows={2} /> : <Failure error={error} onRetry={reload} />
  const headers = Object.entries(data.headers ?? {})
  return (
    <>
      {headers.length > 0 && (
        <pre class="block mono">{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      )}
      <pre class="block mono">{data.payloadText ?? ''}</pre>
    </>
  )
}
