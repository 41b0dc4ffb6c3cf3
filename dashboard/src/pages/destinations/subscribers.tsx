import type { ItemOf } from 'hookonce/client'
import { Pause } from '../../parts/pause.tsx'
import { ProbeNow } from '../../parts/probe-now.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { texts } from '../../texts.ts'
import { circuitColumn, holdOrRelease, isProbeLater, waitingColumn } from './columns.tsx'
import { isStranded, WaitingJobs, type WaitingJobsProps } from './waiting-jobs.tsx'

type Subscriber = ItemOf<'/subscribers'>

const words = texts.destinations
const titles = words.subscriberColumns

export interface SubscribersProps {
  readonly subscribers: readonly Subscriber[]
  readonly reload: () => void
}

export function Subscribers({ subscribers, reload }: SubscribersProps) {
  if (subscribers.length === 0) return <p class="card calm muted">{words.noSubscriber}</p>
  return (
    <div class="card">
      <Table
        label={words.subscribers}
        columns={columns({ subscribers, reload })}
        items={subscribers}
        keyOf={({ tenant, source, subscriber }) => JSON.stringify([tenant, source, subscriber])}
      />
    </div>
  )
}

function columns({ subscribers, reload }: SubscribersProps): readonly Column<Subscriber>[] {
  return [
    {
      name: 'subscriber',
      title: titles.subscriber,
      width: 'minmax(90px, 1fr)',
      cell: ({ subscriber, source }) => (
        <>
          {subscriber} <span class="muted narrow">· {source}</span>
        </>
      ),
    },
    {
      name: 'source',
      title: titles.source,
      width: 'minmax(0, 0.8fr)',
      shown: 'wide',
      cell: ({ source, tenant }) => (
        <span class="muted">{tenant === 'default' ? source : `${tenant} · ${source}`}</span>
      ),
    },
    {
      name: 'pattern',
      title: titles.pattern,
      width: 'minmax(0, 1.4fr)',
      shown: 'widest',
      cell: ({ pattern }) => <code class="muted">{pattern}</code>,
    },
    waitingColumn,
    circuitColumn,
    {
      name: 'state',
      title: titles.state,
      width: '96px',
      shown: 'wide',
      cell: (subscriber) => <Served subscriber={subscriber} />,
    },
    {
      name: 'act',
      title: titles.act,
      isTitleHidden: true,
      width: 'var(--acts)',
      align: 'end',
      cell: (subscriber) => (
        <Verbs subscriber={subscriber} others={othersOf(subscriber, subscribers)} onDone={reload} />
      ),
    },
  ]
}

function othersOf(one: Subscriber, all: readonly Subscriber[]): readonly string[] {
  return all
    .filter(({ source, tenant }) => source === one.source && tenant === one.tenant)
    .map(({ subscriber }) => subscriber)
    .filter((name) => name !== one.subscriber)
}

/** Nothing runs the jobs of a subscriber without a worker, so there is nothing to pause. */
function Verbs({ subscriber: one, others, onDone }: WaitingJobsProps) {
  const { subscriber, source, tenant, pausedAt } = one
  const isPaused = pausedAt !== null
  if (isStranded(one) && !isPaused) return <WaitingJobs subscriber={one} others={others} onDone={onDone} />
  return (
    <span class="held-verbs">
      {isProbeLater(one, isPaused) && (
        <ProbeNow source={source} tenant={tenant} subscriber={subscriber} size="small" onDone={onDone} />
      )}
      <Pause
        name={subscriber}
        isPaused={isPaused}
        hint=""
        onConfirm={async (verb, why) => {
          await holdOrRelease({ verb, source, subscriber, tenant, why })
          onDone()
        }}
      />
    </span>
  )
}

function Served({ subscriber: { pausedAt, isServed, waiting } }: { readonly subscriber: Subscriber }) {
  if (pausedAt !== null) return <State state="paused" label={words.states.paused} />
  if (isServed) return <State state="ok" label={words.states.served} />
  return <State state={waiting > 0 ? 'unattended' : 'idle'} label={words.states.unserved} />
}
