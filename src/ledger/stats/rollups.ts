import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * Rollups: counts by source and subscriber in buckets of three sizes. A flush adds to all three at
 * once, so nothing is aggregated later and no bucket depends on another.
 */

/** The counted facts. The names are those of the columns. */
export const countNames = [
  'received',
  'duplicate',
  'mismatch',
  'unwanted',
  'rejected',
  'unsigned',
  'processed',
  'stale',
  'retrying',
  'failed',
  'attention',
  'spared',
] as const

export type CountName = (typeof countNames)[number]
export type Counts = Readonly<Record<CountName, number>>

/** Minutes per bucket. */
export const rollupSizes = [1, 10, 60] as const
export type RollupSize = (typeof rollupSizes)[number]

/** The counts of one process since its last flush. */
export interface CountDelta extends Counts {
  readonly tenant: string
  readonly source: string
  /** Empty for counts of deliveries. */
  readonly subscriber: string
  /** Accept latencies, per bucket of the metric; the last one counts everything above. */
  readonly accept: readonly number[]
}

const columns = countNames.join(', ')
const typed = countNames.map((name) => `${name} bigint`).join(', ')
const added = countNames.map((name) => `${name} = r.${name} + excluded.${name}`).join(', ')
const summed = countNames.map((name) => `sum(${name})::float8 as ${name}`).join(', ')

/*
 * Rows are locked in the order of their key, so that flushes of several processes cannot deadlock.
 */
const ADD_COUNTS = statement(
  'add_counts',
  `insert into ledger.rollup as r (size, at, tenant, source, subscriber, accept, ${columns})
   select z.size, date_bin(z.size * interval '1 minute', now(), timestamptz '2000-01-01 00:00:00Z'),
     g.tenant, g.source, g.subscriber, g.accept, ${columns}
   from unnest('{${rollupSizes.join(',')}}'::smallint[]) z(size)
   cross join json_to_recordset($1::json) g(tenant text, source text, subscriber text, accept bigint[], ${typed})
   order by z.size, g.tenant, g.source, g.subscriber
   on conflict (size, tenant, source, subscriber, at) do update
   set ${added}, accept = array(
     select coalesce(a.n, 0) + coalesce(a.more, 0)
     from unnest(r.accept, excluded.accept) with ordinality a(n, more, place) order by a.place)`,
)

/** Adds to the buckets of the database's present time. */
export async function addCounts(db: Queryable, deltas: readonly CountDelta[]): Promise<void> {
  if (deltas.length > 0) await change(db, ADD_COUNTS, [JSON.stringify(deltas)])
}

const FILTER = `r.size = $1::smallint
     and r.at > date_bin($1 * interval '1 minute', now(), timestamptz '2000-01-01 00:00:00Z') - $2::integer * interval '1 minute'
     and ($3::text is null or r.tenant = $3::text) and ($4::text is null or r.source = $4::text)
     and ($5::text is null or r.subscriber = $5::text)`

/* Sums by source and subscriber, and sums by bucket. Reads only the buckets of the window. */
const READ_ROLLUPS = statement(
  'read_rollups',
  `select at, tenant, source, subscriber, ${summed}
   from ledger.rollup r where ${FILTER}
   group by grouping sets ((tenant, source, subscriber), (at))`,
)

const READ_LATENCIES = statement(
  'read_accept_latencies',
  `select r.at, r.tenant, r.source, a.place::integer as place, sum(a.n)::float8 as count
   from ledger.rollup r cross join lateral unnest(r.accept) with ordinality a(n, place)
   where ${FILTER}
   group by grouping sets ((r.tenant, r.source, a.place), (r.at, a.place))`,
)

/* How many parts of a window the trend of a source has. */
export const TREND_PARTS = 24

/* A part is $2 / 24 minutes. The last one ends with the present bucket. */
const READ_TRENDS = statement(
  'read_trends',
  `select r.tenant, r.source,
     least(${TREND_PARTS - 1}, floor(extract(epoch from r.at
       - date_bin($1 * interval '1 minute', now(), timestamptz '2000-01-01 00:00:00Z') - $1 * interval '1 minute'
       + $2::integer * interval '1 minute') * ${TREND_PARTS} / ($2 * 60)))::integer as part,
     sum(r.received)::float8 as received
   from ledger.rollup r where ${FILTER} and r.received > 0
   group by 1, 2, 3`,
)

/** One source in one part of the window, from 0. Parts without a delivery are omitted. */
export interface TrendRow {
  readonly tenant: string
  readonly source: string
  readonly part: number
  readonly received: number
}

/** One source and subscriber over the whole window, or all of them in one bucket. */
export type RollupRow = Counts &
  (
    | { readonly at: Date; readonly source: null }
    | { readonly at: null; readonly tenant: string; readonly source: string; readonly subscriber: string }
  )

export type LatencyRow = { readonly place: number; readonly count: number } & (
  | { readonly at: Date; readonly source: null }
  | { readonly at: null; readonly tenant: string; readonly source: string }
)

export interface RollupQuestion {
  readonly size: RollupSize
  /** The length of the window. It ends with the present bucket. */
  readonly minutes: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
}

export async function readRollups(db: Queryable, question: RollupQuestion): Promise<RollupRow[]> {
  return rows(db, READ_ROLLUPS, valuesOf(question))
}

export async function readTrends(db: Queryable, question: RollupQuestion): Promise<TrendRow[]> {
  return rows(db, READ_TRENDS, valuesOf(question))
}

/** From 1, in the order of the bounds of the metric; the last place is everything above. */
export async function readLatencies(db: Queryable, question: RollupQuestion): Promise<LatencyRow[]> {
  return rows(db, READ_LATENCIES, valuesOf(question))
}

function valuesOf({ size, minutes, tenant, source, subscriber }: RollupQuestion): unknown[] {
  return [size, minutes, tenant ?? null, source ?? null, subscriber ?? null]
}

const PRESENT_BUCKET = statement(
  'present_bucket',
  `select now() as now, date_bin($1::integer * interval '1 minute', now(), timestamptz '2000-01-01 00:00:00Z') as at`,
)

/** The database's time, and the beginning of its present bucket. */
export async function presentBucket(db: Queryable, size: RollupSize): Promise<{ now: Date; at: Date }> {
  const [row] = await rows<{ now: Date; at: Date }>(db, PRESENT_BUCKET, [size])
  if (!row) throw new Error('the ledger did not return the current bucket')
  return row
}

const SWEEP_ROLLUPS = statement(
  'sweep_rollups',
  `with due as materialized (
     select ctid as place from ledger.rollup
     where size = $1::smallint and at < now() - $2::integer * interval '1 minute'
     order by at limit $3::integer
     for update skip locked
   )
   delete from ledger.rollup where ctid = any(array(select place from due))`,
)

export interface RollupSweep {
  readonly size: RollupSize
  readonly keepMinutes: number
  readonly limit: number
}

/** Returns how many buckets were deleted. */
export async function sweepRollups(
  db: Queryable,
  { size, keepMinutes, limit }: RollupSweep,
): Promise<number> {
  return change(db, SWEEP_ROLLUPS, [size, keepMinutes, limit])
}
