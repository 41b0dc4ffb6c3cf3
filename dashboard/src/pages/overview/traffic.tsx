import type { ResponseOf } from 'hookonce/client'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { client, seesAllTenants } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { formatCount, formatDuration, formatShare } from '../../format.ts'
import { Chart } from '../../parts/chart.tsx'
import { texts } from '../../texts.ts'

export type Stats = ResponseOf<'GET', '/stats'>
export type Period = Stats['period']

const words = texts.overview.stats
const series = texts.overview.series

/** Six numbers, with a line for each. */
export function Traffic({ stats }: { readonly stats: Stats }) {
  const { totals, points } = stats
  const times = useMemo(() => points.map(({ at }) => Date.parse(at)), [points])
  const lines = useMemo(
    () => [
      { label: series.received, colour: '--accent', values: points.map(({ received }) => received) },
      { label: series.processed, colour: '--processed', values: points.map(({ processed }) => processed) },
      { label: series.duplicate, colour: '--neutral', values: points.map(({ duplicate }) => duplicate) },
      { label: series.rejected, colour: '--retrying', values: points.map(({ rejected }) => rejected) },
      { label: series.failed, colour: '--failed', values: points.map(({ failed }) => failed) },
    ],
    [points],
  )
  const seconds = (Date.parse(stats.until) - Date.parse(stats.since)) / 1_000
  const rate = totals.received / Math.max(1, seconds)
  return (
    <>
      <dl class="card stats">
        <Stat name={words.received} hint={words.andRejected(formatRate(rate), totals.rejected)}>
          {formatCount(totals.received)}
        </Stat>
        <Stat
          name={words.duplicates}
          hint={formatShare(totals.duplicate - totals.mismatch, totals.received + totals.duplicate)}
        >
          {formatCount(totals.duplicate - totals.mismatch)}
        </Stat>
        <Stat name={words.spared} hint={words.sparedHint}>
          {formatCount(totals.spared)}
        </Stat>
        <Stat name={words.failed} hint={words.processed(formatCount(totals.processed))}>
          <span class={totals.failed > 0 ? 'failed' : ''}>{formatCount(totals.failed)}</span>
        </Stat>
        <Stat
          name={words.accept}
          hint={totals.acceptP50Ms === null ? words.noMeasure : words.p50(formatDuration(totals.acceptP50Ms))}
        >
          {totals.acceptP99Ms === null ? '–' : formatDuration(totals.acceptP99Ms)}
        </Stat>
        {seesAllTenants.value && <Lag />}
      </dl>
      <Chart label={texts.overview.chart} times={times} series={lines} />
    </>
  )
}

function Lag() {
  const { data } = useResource((signal) => client.get('/status', { signal }), [], { refreshMs: 3_000 })
  return (
    <Stat name={words.oldest} hint={data ? words.workers(data.workers.length) : ''}>
      {data ? formatLag(data.totals.lagSeconds) : '–'}
    </Stat>
  )
}

/** The value in the largest unit in which it is at least one. */
function formatRate(perSecond: number): string {
  if (perSecond >= 1) return words.perSecond(perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(1))
  if (perSecond * 60 >= 1) return words.perMinute((perSecond * 60).toFixed(0))
  const perHour = perSecond * 3_600
  return words.perHour(perHour >= 10 || perHour === 0 ? perHour.toFixed(0) : perHour.toFixed(1))
}

function formatLag(seconds: number): string {
  return seconds === 0 ? '0 s' : formatDuration(seconds * 1_000)
}

interface StatProps {
  readonly name: string
  readonly hint: string
  readonly children: ComponentChildren
}

function Stat({ name, hint, children }: StatProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{children}</b>
        <small>{hint}</small>
      </dd>
    </div>
  )
}
