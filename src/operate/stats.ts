import type { LedgerTables } from '../ledger/ledger.ts'
import {
  type CountName,
  type Counts,
  countNames,
  type LatencyRow,
  presentBucket,
  type RollupRow,
  type RollupSize,
  readLatencies,
  readRollups,
  readTrends,
  TREND_PARTS,
  type TrendRow,
} from '../ledger/stats/rollups.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { acceptQuantileMs } from '../observe/accept-quantile.ts'
import { everywhere } from './across.ts'

export { type CountName, countNames }

/** Counts of a time window, from rollups. Their cost does not depend on history. */
export interface Stats {
  readonly since: Date
  readonly until: Date
  /** The length of each bucket of `series`. */
  readonly bucketMinutes: RollupSize
  readonly totals: StatsTotals
  readonly sources: readonly SourceStats[]
  readonly subscribers: readonly SubscriberStats[]
  /** Oldest first, without holes. The last bucket is not over yet. */
  readonly series: readonly StatsPoint[]
}

export interface StatsTotals extends Counts, AcceptLatency {
  /**
   * Repeats without harm: deliveries of a known event that made no second event, and effects that
   * were requested again and not repeated. Excludes deliveries of a known key with another body,
   * because that body may be a lost event.
   */
  readonly harmlessRepeats: number
}

export interface AcceptLatency {
  /** Upper bounds of the metric's buckets. Null: no delivery was measured. */
  readonly acceptP50Ms: number | null
  readonly acceptP99Ms: number | null
}

export interface SourceStats extends StatsTotals {
  readonly tenant: string
  readonly source: string
  /** Events received in each 24th of the window, oldest first. */
  readonly trend: readonly number[]
}

export interface SubscriberStats extends Counts {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
}

export interface StatsPoint extends StatsTotals {
  readonly at: Date
}

export interface StatsQuestion {
  /** The length of the window, at most a week. */
  readonly windowMs: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  /** Only the attempts of this subscriber. */
  readonly subscriber?: string | undefined
}

const MAX_WINDOW_MS = 7 * DAY_MS

async function statsIn({ pool }: LedgerTables, question: StatsQuestion): Promise<Stats> {
  const { windowMs, ...filter } = question
  const size = sizeFor(windowMs)
  const points = Math.ceil(windowMs / (size * MINUTE_MS))
  const window = { ...filter, size, minutes: points * size }
  const present = await presentBucket(pool, size)
  const rows = await readRollups(pool, window)
  const latencies = await readLatencies(pool, window)
  const trends = await readTrends(pool, window)
  const keyed = rows.filter((row) => row.source !== null)
  const places = Array.from(
    { length: points },
    (_, n) => present.at.getTime() - (points - 1 - n) * size * MINUTE_MS,
  )
  return {
    since: new Date(places[0] ?? present.at),
    until: present.now,
    bucketMinutes: size,
    totals: totalsOf(
      keyed,
      latencies.filter(({ source }) => source !== null),
    ),
    sources: sourcesOf(keyed, latencies, trends),
    subscribers: keyed
      .filter(({ subscriber }) => subscriber !== '')
      .map((row) => ({ ...namesOf(row), subscriber: row.subscriber, ...sum([row]) }))
      .sort(byName),
    series: places.map((at) => ({
      at: new Date(at),
      ...totalsOf(
        rows.filter((row) => row.at?.getTime() === at),
        latencies.filter((row) => row.at?.getTime() === at),
      ),
    })),
  }
}

export const readStats = everywhere(statsIn, (all) => mergeStats(all))

function sizeFor(windowMs: number): RollupSize {
  if (!(windowMs >= MINUTE_MS && windowMs <= MAX_WINDOW_MS))
    throw new HookonceError('CONFIG_INVALID', 'statistics are kept for a week: pass a time from 1m to 7d ago')
  if (windowMs <= HOUR_MS) return 1
  return windowMs <= DAY_MS ? 10 : 60
}

type KeyedRow = Extract<RollupRow, { readonly at: null }>

function sourcesOf(
  rows: readonly KeyedRow[],
  latencies: readonly LatencyRow[],
  trendRows: readonly TrendRow[],
): SourceStats[] {
  const trends = trendsBySource(trendRows)
  const ofSource = new Map<string, { rows: KeyedRow[]; latencies: LatencyRow[] }>()
  for (const row of rows) {
    const known = ofSource.get(keyOf(row))
    if (known) known.rows.push(row)
    else ofSource.set(keyOf(row), { rows: [row], latencies: [] })
  }
  for (const row of latencies) if (row.source !== null) ofSource.get(keyOf(row))?.latencies.push(row)
  return [...ofSource.values()]
    .flatMap(({ rows: own, latencies: measured }) =>
      own.slice(0, 1).map((row) => ({
        ...namesOf(row),
        ...totalsOf(own, measured),
        trend: trends.get(keyOf(row)) ?? noTrend(),
      })),
    )
    .sort(byName)
}

function trendsBySource(rows: readonly TrendRow[]): Map<string, number[]> {
  const trends = new Map<string, number[]>()
  for (const row of rows) {
    const parts = trends.get(keyOf(row)) ?? noTrend()
    parts[row.part] = row.received
    trends.set(keyOf(row), parts)
  }
  return trends
}

function noTrend(): number[] {
  return Array.from({ length: TREND_PARTS }, () => 0)
}

interface Named {
  readonly tenant: string
  readonly source: string
  readonly subscriber?: string
}

function keyOf({ tenant, source }: Named): string {
  return JSON.stringify([tenant, source])
}

function namesOf({ tenant, source }: Named): Pick<Named, 'tenant' | 'source'> {
  return { tenant, source }
}

function byName(a: Named, b: Named): number {
  const text = ({ tenant, source, subscriber = '' }: Named): string =>
    JSON.stringify([tenant, source, subscriber])
  return text(a) < text(b) ? -1 : 1
}

function totalsOf(rows: readonly Counts[], latencies: readonly LatencyRow[]): StatsTotals {
  const counts = sum(rows)
  const places: number[] = []
  for (const { place, count } of latencies) places[place - 1] = (places[place - 1] ?? 0) + count
  return {
    ...counts,
    harmlessRepeats: counts.duplicate - counts.mismatch + counts.spared,
    acceptP50Ms: acceptQuantileMs(places, 0.5),
    acceptP99Ms: acceptQuantileMs(places, 0.99),
  }
}

function sum(rows: readonly Counts[]): Counts {
  const total = (name: keyof Counts): number => rows.reduce((all, row) => all + row[name], 0)
  return Object.fromEntries(countNames.map((name) => [name, total(name)])) as Record<keyof Counts, number>
}

/**
 * Counts are added up. A latency is an upper bound, so the largest of all ledgers is an upper bound
 * too.
 */
function mergeStats(all: readonly Stats[]): Stats {
  const [first] = all
  if (!first) throw new Error('there are no statistics to merge')
  const points = new Map<number, StatsPoint[]>()
  for (const point of all.flatMap(({ series }) => series))
    points.set(point.at.getTime(), [...(points.get(point.at.getTime()) ?? []), point])
  return {
    ...first,
    totals: mergeTotals(all.map(({ totals }) => totals)),
    sources: all.flatMap(({ sources }) => sources).sort(byName),
    subscribers: all.flatMap(({ subscribers }) => subscribers).sort(byName),
    // If the clocks of servers differ, their buckets may differ: the buckets of the first are used.
    series: first.series.map(({ at }) => ({ at, ...mergeTotals(points.get(at.getTime()) ?? []) })),
  }
}

function mergeTotals(all: readonly StatsTotals[]): StatsTotals {
  const largest = (of: keyof AcceptLatency): number | null =>
    all.reduce<number | null>((most, one) => (one[of] === null ? most : Math.max(most ?? 0, one[of])), null)
  return {
    ...sum(all),
    harmlessRepeats: all.reduce((total, { harmlessRepeats }) => total + harmlessRepeats, 0),
    acceptP50Ms: largest('acceptP50Ms'),
    acceptP99Ms: largest('acceptP99Ms'),
  }
}
