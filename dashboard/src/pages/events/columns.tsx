import type { ItemOf } from 'hookonce/client'
import { State } from '../../parts/state.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { eventState } from '../../parts/worst-state.ts'
import { texts } from '../../texts.ts'

export type ListedEvent = ItemOf<'/events'>

const titles = texts.events.columns

export const columns: readonly Column<ListedEvent>[] = [
  {
    name: 'state',
    title: titles.state,
    width: '104px',
    cell: (event) => <State state={eventState(event)} />,
  },
  {
    name: 'type',
    title: titles.type,
    width: 'minmax(0, 1.2fr)',
    isLink: true,
    cell: ({ eventType }) => eventType,
  },
  {
    name: 'source',
    title: titles.source,
    width: 'minmax(0, 0.7fr)',
    shown: 'wide',
    cell: ({ source, tenant }) => (
      <span class="muted">{tenant === 'default' ? source : `${tenant} · ${source}`}</span>
    ),
  },
  {
    name: 'key',
    title: titles.key,
    width: 'minmax(0, 1.4fr)',
    shown: 'wide',
    cell: ({ eventKey }) => <code>{eventKey}</code>,
  },
  {
    name: 'object',
    title: titles.object,
    width: 'minmax(0, 1fr)',
    shown: 'widest',
    cell: ({ objectId }) => <code class="muted">{objectId ?? ''}</code>,
  },
  {
    name: 'duplicates',
    title: titles.duplicates,
    width: '84px',
    align: 'end',
    shown: 'wide',
    cell: ({ duplicates }) => <span class="faint">{duplicates > 0 ? `+${duplicates}` : ''}</span>,
  },
  {
    name: 'received',
    title: titles.received,
    width: '92px',
    align: 'end',
    cell: ({ receivedAt }) => (
      <span class="muted">
        <Time at={receivedAt} />
      </span>
    ),
  },
]
