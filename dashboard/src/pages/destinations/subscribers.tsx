import type { ItemOf } from 'hookonce/client'
import { Pause } from '../../parts/pause.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { texts } from '../../texts.ts'
import { circuitColumn, holdOrRelease, waitingColumn } from './columns.tsx'

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
        columns={columns(reload)}
        items={subscribers}
        keyOf={({ tenant, source, subscriber }) => JSON.stringify([tenant, source, subscriber])}
      />
    </div>
  )
}

function columns(reload: () => void): readonly Column<Subscriber>[] {
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
      width: '84px',
      align: 'end',
      cell: ({ subscriber, source, tenant, pausedAt }) => (
        <Pause
          name={subscriber}
          isPaused={pausedAt !== null}
          hint=""
          onConfirm={async (verb, why) => {
            await holdOrRelease({ verb, source, subscriber, tenant, why })
            reload()
          }}
        />
      ),
    },
  ]
}

function Served({ subscriber: { pausedAt, isServed, waiting } }: { readonly subscriber: Subscriber }) {
  if (pausedAt !== null) return <State state="paused" label={words.states.paused} />
  if (isServed) return <State state="ok" label={words.states.served} />
  return <State state={waiting > 0 ? 'unattended' : 'idle'} label={words.states.unserved} />
}
