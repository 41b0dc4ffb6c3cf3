import type { ItemOf } from 'hookonce/client'
import { client, seesAllTenants } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { formatCount } from '../../format.ts'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { texts } from '../../texts.ts'

type Worker = ItemOf<'/workers'>

const words = texts.settings.workers
const titles = words.columns

const columns: readonly Column<Worker>[] = [
  {
    name: 'host',
    title: titles.host,
    width: 'minmax(0, 2fr)',
    cell: ({ host, pid }) => (
      <code>
        {host} · {pid}
      </code>
    ),
  },
  {
    name: 'started',
    title: titles.started,
    width: '120px',
    cell: ({ startedAt }) => <Time at={startedAt} />,
  },
  { name: 'jobs', title: titles.jobs, width: '90px', align: 'end', cell: ({ jobs }) => formatCount(jobs) },
  {
    name: 'lease',
    title: titles.lease,
    width: '120px',
    align: 'end',
    shown: 'wide',
    cell: ({ leaseUntil }) => (
      <span class="muted">
        <Time at={leaseUntil} />
      </span>
    ),
  },
]

/** The processes that are alive. */
export function Workers() {
  if (!seesAllTenants.value) return <p class="card calm muted">{words.onlyAll}</p>
  return <Alive />
}

function Alive() {
  const workers = useItems((signal) => client.items('/workers', { query: { limit: PAGE }, signal }), [], {
    refreshMs: 3_000,
  })
  if (!workers.data) return <Waiting {...workers} />
  return (
    <div class="card">
      {workers.data.length === 0 ? (
        <Empty title={words.empty} command={words.emptyCommand}>
          {words.emptyHint}
        </Empty>
      ) : (
        <Table
          label={texts.settings.tabs.workers}
          columns={columns}
          items={workers.data}
          keyOf={({ id }) => String(id)}
        />
      )}
      <LoadMore pages={workers} />
    </div>
  )
}
