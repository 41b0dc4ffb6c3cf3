import type { ItemOf } from 'hookonce/client'
import { client } from '../../api.ts'
import { usePages } from '../../data/pages.ts'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { texts } from '../../texts.ts'

type Entry = ItemOf<'/audit'>

const words = texts.settings.audit
const titles = words.columns

const columns: readonly Column<Entry>[] = [
  {
    name: 'at',
    title: titles.at,
    width: '80px',
    cell: ({ at }) => (
      <span class="muted">
        <Time at={at} />
      </span>
    ),
  },
  {
    name: 'actor',
    title: titles.actor,
    width: 'minmax(0, 0.8fr)',
    cell: ({ actor }) => <span title={actor}>{actor}</span>,
  },
  { name: 'action', title: titles.action, width: 'minmax(0, 0.8fr)', cell: ({ action }) => action },
  {
    name: 'subject',
    title: titles.subject,
    width: 'minmax(0, 1.2fr)',
    shown: 'wide',
    cell: ({ subject }) => (
      <code class="muted" title={subject}>
        {subject}
      </code>
    ),
  },
  {
    name: 'why',
    title: titles.why,
    width: 'minmax(0, 1.4fr)',
    cell: ({ why }) => <span title={why}>{why}</span>,
  },
  {
    name: 'address',
    title: titles.address,
    width: '110px',
    shown: 'widest',
    cell: ({ address }) => <span class="muted">{address ?? words.local}</span>,
  },
]

/** The actions of people: who, what, why and from which address. */
export function Audit() {
  const pages = usePages(
    (cursor, signal) =>
      client.get('/audit', { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) }, signal }),
    [],
    { keyOf: ({ id }) => id, refreshMs: 3_000 },
  )
  const { items, isFirstLoading, error, reload } = pages
  if (items.length === 0 && (isFirstLoading || error !== undefined))
    return <Waiting error={error} rows={8} reload={reload} />
  return (
    <div class="card audit">
      {items.length === 0 ? (
        <Empty title={words.empty}>{words.emptyHint}</Empty>
      ) : (
        <Table label={texts.settings.tabs.audit} columns={columns} items={items} keyOf={({ id }) => id} />
      )}
      <LoadMore pages={pages} />
    </div>
  )
}
