import type { ItemOf } from 'hookonce/client'
import { formatCount, formatDuration, roughly } from '../../format.ts'
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
    width: 'minmax(100px, 1.4fr)',
    cell: (one) => <SourceName {...one} fault={one.health === 'ok' ? '' : words.health[one.health]} />,
  },
  {
    name: 'trend',
    title: titles.trend,
    isTitleHidden: true,
    width: 'minmax(0, 1fr)',
    shown: 'widest',
    cell: ({ counts, health }) => (
      <Sparkline values={counts?.trend ?? []} colour={health === 'failing' ? '--failed' : '--accent'} />
    ),
  },
  number('received', { of: ({ counts }) => counts?.received, width: '62px' }),
  number('processed', { of: ({ counts }) => counts?.processed, width: '70px', shown: 'wide' }),
  number('duplicate', { of: ({ counts }) => counts?.duplicate, width: '64px', shown: 'widest' }),
  {
    ...number('rejected', { of: ({ counts }) => counts?.rejected, width: '62px', shown: 'widest' }),
    cell: ({ counts }) => <Bad count={counts?.rejected ?? 0} />,
  },
  {
    ...number('failed', { of: ({ counts }) => counts?.failed, width: '46px', shown: 'wide' }),
    cell: ({ counts }) => <Bad count={counts?.failed ?? 0} />,
  },
  {
    name: 'lag',
    title: titles.lag,
    width: '70px',
    align: 'end',
    shown: 'wide',
    cell: ({ lagSeconds }) => <span title={words.lagTitle}>{lag(lagSeconds)}</span>,
  },
  latency('p50', ({ counts }) => counts?.acceptP50Ms),
  latency('p99', ({ counts }) => counts?.acceptP99Ms),
  {
    name: 'last',
    title: titles.last,
    width: '84px',
    align: 'end',
    cell: (source) => <LastHeard source={source} />,
  },
]

interface NumberOptions {
  readonly of: (row: Row) => number | undefined
  readonly width: string
  readonly shown?: 'wide' | 'widest'
}

function number(name: keyof typeof titles, { of, ...options }: NumberOptions): Column<Row> {
  return { name, title: titles[name], align: 'end', ...options, cell: (row) => formatCount(of(row) ?? 0) }
}

function lag(seconds: number): string {
  return seconds === 0 ? '0 s' : roughly(seconds * 1_000)
}

function latency(name: 'p50' | 'p99', of: (row: Row) => number | null | undefined): Column<Row> {
  return {
    name,
    title: titles[name],
    width: '58px',
    align: 'end',
    shown: 'widest',
    cell(row) {
      const ms = of(row)
      const text = ms === null || ms === undefined ? '–' : formatDuration(ms)
      return <span title={words.latencyTitle}>{text}</span>
    },
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
