import type { ItemOf } from 'hookonce/client'
import { formatCount } from '../../format.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'
import { type Span, seriesOf } from './series.ts'

export type FailureGroup = ItemOf<'/failures'>

const titles = texts.failures.columns

export function groupColumns(span: Span): readonly Column<FailureGroup>[] {
  return [
    {
      name: 'jobs',
      title: titles.jobs,
      width: '52px',
      align: 'end',
      cell: ({ jobs }) => <b class="failed">{formatCount(jobs)}</b>,
    },
    {
      name: 'error',
      title: titles.error,
      width: 'minmax(0, 1fr)',
      isLink: true,
      cell: ({ error }) => <code>{error === '' ? texts.failures.noError : error}</code>,
    },
    {
      name: 'where',
      title: titles.where,
      width: 'minmax(0, 0.42fr)',
      shown: 'wide',
      cell: (group) => <Where {...group} />,
    },
    {
      name: 'trend',
      title: titles.trend,
      width: '160px',
      shown: 'widest',
      cell: ({ hours }) => <Sparkline values={seriesOf(hours, span)} colour="--failed" />,
    },
    {
      name: 'first',
      title: titles.first,
      width: '84px',
      align: 'end',
      shown: 'widest',
      cell: ({ firstAt }) => <Muted at={firstAt} />,
    },
    {
      name: 'last',
      title: titles.last,
      width: '84px',
      align: 'end',
      cell: ({ lastAt }) => <Muted at={lastAt} />,
    },
  ]
}

function Muted({ at }: { readonly at: string }) {
  return (
    <span class="muted">
      <Time at={at} />
    </span>
  )
}

/** The source and the subscriber. */
export function Where({
  tenant,
  source,
  subscriber,
}: {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
}) {
  return (
    <>
      <span class="muted">{tenant === 'default' ? source : `${tenant} · ${source}`} → </span>
      {subscriber}
    </>
  )
}
