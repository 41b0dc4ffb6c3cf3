import { useState } from 'preact/hooks'
import { canOperate, client } from '../../api.ts'
import { usePages } from '../../data/pages.ts'
import { ExpandTable } from '../../parts/expand-table.tsx'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { State } from '../../parts/state.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { type Message, MessageFacts } from './message-facts.tsx'
import { PublishAgain, PublishFailed } from './publish-again.tsx'

const words = texts.outbox

type ListState = 'failed' | 'waiting' | 'published'

const keyOf = ({ id }: Message): string => id

/** The messages of one state, with the action for finished messages. */
export function Messages({ state, topic }: { readonly state: ListState; readonly topic: string }) {
  const pages = usePages(
    (cursor, signal) =>
      client.get('/outbox', {
        query: {
          state,
          limit: 100,
          ...(topic === '' ? {} : { topic }),
          ...(cursor === undefined ? {} : { cursor }),
        },
        signal,
      }),
    [state, topic],
    { keyOf, refreshMs: 3_000 },
  )
  const [again, setAgain] = useState<Message | 'failed'>()
  const { items, isFirstLoading, error } = pages
  const isFinished = state !== 'waiting'
  if (items.length === 0) {
    if (isFirstLoading) return <Skeleton />
    if (error !== undefined) return <Failure error={error} onRetry={pages.reload} />
    return (
      <Empty title={words.none[state]} command={words.noneCommand}>
        {words.noneHint[state]}
      </Empty>
    )
  }
  return (
    <>
      {state === 'failed' && canOperate.value && (
        <div class="outbox-bar">
          <span class="muted">{words.failedHint}</span>
          <button type="button" class="right" onClick={() => setAgain('failed')}>
            {words.publishAll}…
          </button>
        </div>
      )}
      <ExpandTable
        label={words.tabs[state]}
        columns={columnsOf(state)}
        items={items}
        keyOf={keyOf}
        openKey={queryValue('message') || undefined}
        onOpen={(key) => setQuery({ message: key })}
        detail={(message) => <MessageFacts message={message} onAgain={() => setAgain(message)} />}
        verbs={
          isFinished && canOperate.value ? [{ keys: 'r', label: words.publishAgain, run: setAgain }] : []
        }
      />
      <LoadMore pages={pages} />
      {again === 'failed' && (
        <PublishFailed
          topic={topic}
          count={items.length}
          hasMore={pages.hasMore}
          onClose={() => setAgain(undefined)}
          onDone={pages.reload}
        />
      )}
      {again !== undefined && again !== 'failed' && (
        <PublishAgain message={again} onClose={() => setAgain(undefined)} onDone={pages.reload} />
      )}
    </>
  )
}

function columnsOf(state: ListState): readonly Column<Message>[] {
  return [
    {
      name: 'state',
      title: words.columns.state,
      width: '98px',
      cell: (message) => <State state={message.state} label={words.states[message.state]} />,
    },
    {
      name: 'topic',
      title: words.columns.topic,
      width: 'minmax(0, 1fr)',
      isLink: true,
      cell: ({ topic, tenant }) => (tenant === 'default' ? topic : `${tenant} · ${topic}`),
    },
    {
      name: 'key',
      title: words.columns.key,
      width: 'minmax(0, 1.1fr)',
      shown: 'wide',
      cell: ({ key }) => <code class="muted">{key ?? ''}</code>,
    },
    {
      name: 'reason',
      title: state === 'published' ? words.columns.id : words.columns.reason,
      width: 'minmax(0, 1.6fr)',
      shown: 'wide',
      cell: ({ reason, id }) =>
        state === 'published' ? <code class="faint">{id}</code> : <span class="muted">{reason ?? ''}</span>,
    },
    {
      name: 'attempts',
      title: words.columns.attempts,
      width: '76px',
      align: 'end',
      shown: 'widest',
      cell: ({ attempts }) => attempts,
    },
    {
      name: 'at',
      title: words.columns.at[state],
      width: '90px',
      align: 'end',
      cell: ({ finishedAt, createdAt }) => (
        <span class="muted">
          <Time at={finishedAt ?? createdAt} />
        </span>
      ),
    },
  ]
}
