import type { ItemOf } from 'hookonce/client'
import { formatCount, formatDuration } from '../../format.ts'
import { LastHeard } from '../../parts/last-heard.tsx'
import { SourceName } from '../../parts/source-name.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { eventsOfSource } from '../../search/events-of-source.ts'
import { texts } from '../../texts.ts'
import { FirstEvent } from '../events/first-event.tsx'
import type { Stats } from './traffic.tsx'

type Source = ItemOf<'/sources'>
interface Row extends Source {
  readonly counts: Stats['sources'][number] | undefined
}

const words = texts.overview
const titles = words.columns

const columns: readonly Column<Row>[] = [
  {
    name: 'source',
    title: titles.source,
    width: 'minmax(0, 1.4fr)',
    cell: (one) => <SourceName {...one} fault={one.health === 'ok' ? '' : words.health[one.health]} />,
  },
  {
    name: 'trend',
    title: titles.trend,
    isTitleHidden: true,
    width: 'minmax(0, 1.6fr)',
    shown: 'wide',
    cell: ({ counts, health }) => (
      <Sparkline values={counts?.trend ?? []} colour={health === 'failing' ? '--failed' : '--accent'} />
    ),
  },
  number('received', titles.received, ({ counts }) => counts?.received),
  number('duplicate', titles.duplicate, ({ counts }) => counts?.duplicate, 'wide'),
  {
    ...number('rejected', titles.rejected, ({ counts }) => counts?.rejected, 'wide'),
    cell: ({ counts }) => <Bad count={counts?.rejected ?? 0} />,
  },
  {
    ...number('failed', titles.failed, ({ failed }) => failed, 'wide'),
    cell: ({ failed }) => <Bad count={failed} />,
  },
  {
    name: 'p99',
    title: titles.p99,
    width: '90px',
    align: 'end',
    shown: 'widest',
    cell: ({ counts }) => (counts?.acceptP99Ms == null ? '–' : formatDuration(counts.acceptP99Ms)),
  },
  {
    name: 'last',
    title: titles.last,
    width: '100px',
    align: 'end',
    cell: (source) => <LastHeard source={source} />,
  },
]

function number(
  name: string,
  title: string,
  of: (row: Row) => number | undefined,
  shown?: 'wide' | 'widest',
): Column<Row> {
  return {
    name,
    title,
    width: '86px',
    align: 'end',
    ...(shown === undefined ? {} : { shown }),
    cell: (row) => formatCount(of(row) ?? 0),
  }
}

function Bad({ count }: { readonly count: number }) {
  return <span class={count > 0 ? 'failed' : ''}>{formatCount(count)}</span>
}

export function Sources({
  sources,
  stats,
}: {
  readonly sources: readonly Source[]
  readonly stats: Stats | undefined
}) {
  const isNew = sources.every(({ lastEvent, lastHeardAt }) => lastEvent === null && lastHeardAt === null)
  if (isNew && (stats?.totals.received ?? 0) === 0)
    return (
      <div class="card">
        <FirstEvent />
      </div>
    )
  const rows = sources.map((source) => ({
    ...source,
    counts: stats?.sources.find((one) => one.source === source.source && one.tenant === source.tenant),
  }))
  return (
    <div class="card">
      <Table
        label={words.sources}
        columns={columns}
        items={rows}
        keyOf={({ tenant, source }) => `${tenant} ${source}`}
        hrefOf={(source) => eventsOfSource(source, sources)}
      />
    </div>
  )
}
