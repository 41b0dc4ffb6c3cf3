import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { HAS_ERROR } from '../read/failure-text.ts'
import { NEEDS_OPERATOR } from './states.ts'

/*
 * Replays of many jobs. A replay walks over the jobs of each shard and subscriber, in batches. One
 * transaction locks the replay, takes a batch, replays its jobs and moves the position. So two
 * processes never work on one replay at once, and after a crash the next batch begins where the
 * last commit ended.
 */

/** Which jobs are replayed. */
export interface BulkFilter {
  readonly state: 'failed' | 'processed'
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
  /** A pattern of LIKE, or a fingerprint. */
  readonly error?: string | undefined
  /** The time of the failure; with `processed`, of the receipt. ISO 8601. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** The position of a walk: it continues after this job of this shard and subscriber. */
export interface BulkPosition {
  readonly shard: number
  readonly subscriber: number
  readonly at: string
  readonly id: string
}

export interface BulkReplayRow {
  readonly id: string
  readonly name: string
  readonly state: 'running' | 'done' | 'cancelled'
  readonly tenant: string | null
  readonly actor: string
  readonly why: string
  readonly filter: BulkFilter
  readonly perSecond: number
  readonly expected: number
  /** The number of jobs that were read. */
  readonly seen: number
  readonly replayed: number
  readonly createdAt: Date
  readonly endedAt: Date | null
}

const BULK = `b.id, b.name, b.state, b.tenant, b.actor, b.why, b.filter, b.per_second as "perSecond",
     b.expected::float8 as expected, b.seen::float8 as seen, b.replayed::float8 as replayed,
     b.created_at as "createdAt", b.ended_at as "endedAt"`

const ADD = statement(
  'add_bulk_replay',
  `insert into ledger.bulk_replay as b (name, tenant, actor, why, filter, per_second, expected, position, state)
   select $1, $2, $3, $4, $5::jsonb, $6::integer, $7::bigint, $8::jsonb, 'running'
   where (select count(*) from ledger.bulk_replay where state = 'running') < $9::integer
   returning ${BULK}`,
)

export interface NewBulkReplay
  extends Pick<BulkReplayRow, 'name' | 'tenant' | 'actor' | 'why' | 'filter' | 'perSecond' | 'expected'> {
  /** How many replays may run at once. */
  readonly most: number
}

/** Before the first job of the first shard. */
const START: BulkPosition = {
  shard: 0,
  subscriber: 0,
  at: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
}

/** Undefined: the maximum number of replays is already running. */
export async function addBulkReplay(db: Queryable, given: NewBulkReplay): Promise<BulkReplayRow | undefined> {
  const [added] = await rows<BulkReplayRow>(db, ADD, [
    given.name,
    given.tenant,
    given.actor,
    given.why,
    JSON.stringify(given.filter),
    given.perSecond,
    given.expected,
    JSON.stringify(START),
    given.most,
  ])
  return added
}

const RUNNING = statement(
  'running_bulk_replays',
  `select id from ledger.bulk_replay where state = 'running' order by created_at`,
)

export async function runningBulkReplays(db: Queryable): Promise<string[]> {
  return (await rows<{ id: string }>(db, RUNNING)).map(({ id }) => id)
}

/* SKIP LOCKED: another process is working on it. */
const LOCK = statement(
  'lock_bulk_replay',
  `select ${BULK}, b.position,
     extract(epoch from clock_timestamp() - b.stepped_at)::float8 as "elapsedSeconds"
   from ledger.bulk_replay b where b.id = $1::uuid and b.state = 'running'
   for update skip locked`,
)

export interface LockedBulkReplay extends BulkReplayRow {
  readonly position: BulkPosition
  /** Since the last batch. */
  readonly elapsedSeconds: number
}

/** Undefined: it has ended, or another process works on it. */
export async function lockBulkReplay(db: Queryable, id: string): Promise<LockedBulkReplay | undefined> {
  const [locked] = await rows<LockedBulkReplay>(db, LOCK, [id])
  return locked
}

const NEXT_SUBSCRIBER = statement(
  'next_bulk_subscriber',
  `select id from ledger.subscriber
   where id >= $1::integer and ($2::text is null or tenant = $2::text)
     and ($3::text is null or source = $3::text) and ($4::text is null or name = $4::text)
   order by id limit 1`,
)

/** The first subscriber from this number on that the replay includes. */
export async function nextSubscriber(
  db: Queryable,
  from: number,
  { tenant, filter }: Pick<BulkReplayRow, 'tenant' | 'filter'>,
): Promise<number | undefined> {
  const values = [from, tenant, filter.source ?? null, filter.subscriber ?? null]
  const [found] = await rows<{ id: number }>(db, NEXT_SUBSCRIBER, values)
  return found?.id
}

const AT = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`

/* Along `job_failed`. A job that failed again after the replay began is not taken twice. */
const FAILED_BATCH = statement(
  'bulk_failed_batch',
  `select j.receipt_id as id, ${AT('j.finished_at')}, ${HAS_ERROR('j.reason', '$6')}
     and ($7::text is null or coalesce((
       select r.event_type like $7::text from ledger.receipt r
       where r.shard = $1::smallint and r.id = j.receipt_id limit 1), false)) as wanted
   from (
     select j.receipt_id, j.finished_at, j.reason from ledger.job j
     where j.shard = $1::smallint and j.subscriber = $2::integer and j.state in ${NEEDS_OPERATOR} and j.state = 'failed'
       and j.finished_at >= greatest($3::timestamptz, $8::timestamptz) and j.finished_at < $9::timestamptz
       and (j.finished_at, j.receipt_id) > ($3::timestamptz, $4::uuid)
     order by j.finished_at, j.receipt_id limit $5::integer
   ) j
   order by j.finished_at, j.receipt_id`,
)

/* Along `receipt_received`. */
const PROCESSED_BATCH = statement(
  'bulk_processed_batch',
  `select r.id, ${AT('r.received_at')}, ($7::text is null or r.event_type like $7::text) and coalesce((
       select j.state = 'processed' and ${HAS_ERROR('j.reason', '$6')}
       from ledger.job j
       where j.shard = $1::smallint and j.receipt_id = r.id and j.subscriber = $2::integer limit 1), false) as wanted
   from (
     select r.id, r.received_at, r.event_type from ledger.receipt r
     where r.shard = $1::smallint
       and r.received_at >= greatest($3::timestamptz, $8::timestamptz) and r.received_at < $9::timestamptz
       and (r.received_at, r.id) > ($3::timestamptz, $4::uuid)
     order by r.received_at, r.id limit $5::integer
   ) r
   order by r.received_at, r.id`,
)

export interface BulkJob {
  readonly id: string
  readonly at: string
  /** Whether the filter matches. */
  readonly wanted: boolean
}

/** The jobs after the position in its shard and subscriber, whether or not they match. */
export async function nextJobs(
  db: Queryable,
  {
    filter,
    createdAt,
    position,
    limit,
  }: Pick<LockedBulkReplay, 'filter' | 'createdAt' | 'position'> & { limit: number },
): Promise<BulkJob[]> {
  const until =
    filter.until === undefined ? createdAt : new Date(Math.min(Date.parse(filter.until), createdAt.getTime()))
  return rows(db, filter.state === 'failed' ? FAILED_BATCH : PROCESSED_BATCH, [
    position.shard,
    position.subscriber,
    position.at,
    position.id,
    limit,
    filter.error ?? null,
    filter.typeLike ?? null,
    filter.since ?? '-infinity',
    until,
  ])
}

const MOVE = statement(
  'move_bulk_replay',
  `update ledger.bulk_replay
   set position = $2::jsonb, seen = seen + $3::bigint, replayed = replayed + $4::bigint, stepped_at = clock.now,
     state = case when $5::boolean then 'done' else state end, ended_at = case when $5::boolean then clock.now end
   from (select now() as now) clock
   where id = $1::uuid`,
)

export interface BulkProgress {
  readonly position: BulkPosition
  readonly seen: number
  readonly replayed: number
  readonly isDone: boolean
}

/** The caller holds the lock. */
export async function moveBulkReplay(db: Queryable, id: string, progress: BulkProgress): Promise<void> {
  const { position, seen, replayed, isDone } = progress
  await change(db, MOVE, [id, JSON.stringify(position), seen, replayed, isDone])
}

const CANCEL = statement(
  'cancel_bulk_replay',
  `update ledger.bulk_replay b set state = 'cancelled', ended_at = now()
   where b.id = $1::uuid and b.state = 'running' returning ${BULK}`,
)

/** Undefined: it is not running. A batch in progress is committed first. */
export async function cancelBulkReplay(db: Queryable, id: string): Promise<BulkReplayRow | undefined> {
  const [cancelled] = await rows<BulkReplayRow>(db, CANCEL, [id])
  return cancelled
}

const FIND = statement('find_bulk_replay', `select ${BULK} from ledger.bulk_replay b where b.id = $1::uuid`)

export async function findBulkReplay(db: Queryable, id: string): Promise<BulkReplayRow | undefined> {
  const [found] = await rows<BulkReplayRow>(db, FIND, [id])
  return found
}

const LIST = statement(
  'list_bulk_replays',
  `select ${BULK} from ledger.bulk_replay b
   where $1::text is null or b.tenant = $1::text order by b.created_at desc, b.id limit $2::integer`,
)

/** The newest first. */
export async function readBulkReplays(
  db: Queryable,
  { tenant, limit }: { readonly tenant?: string | undefined; readonly limit: number },
): Promise<BulkReplayRow[]> {
  return rows(db, LIST, [tenant ?? null, limit])
}

/* Ended replays, except the newest. */
const PRUNE = statement(
  'prune_bulk_replays',
  `delete from ledger.bulk_replay where state <> 'running' and id not in (
     select id from ledger.bulk_replay order by created_at desc limit $1::integer)`,
)

export async function pruneBulkReplays(db: Queryable, keep: number): Promise<void> {
  await change(db, PRUNE, [keep])
}

/* For a plan: effects of these receipts that are done, and so will not happen again. */
const DONE_EFFECTS = statement(
  'done_effects_of_receipts',
  `select e.key, e.receipt_id as "receiptId", count(*) over ()::float8 as total
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.effect e on e.shard = n.shard and e.receipt_id = any($2::uuid[])
   where e.state = 'done' and e.reopened_at is null
   order by e.started_at desc limit $3::integer`,
)

export interface DoneEffect {
  readonly key: string
  readonly receiptId: string
  /** The number of all such effects, listed or not. */
  readonly total: number
}

export async function doneEffects(
  db: Queryable,
  { shards, receiptIds, limit }: { shards: number; receiptIds: readonly string[]; limit: number },
): Promise<DoneEffect[]> {
  return rows(db, DONE_EFFECTS, [shards, receiptIds, limit])
}
