import { WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { type Queryable, rows, type Statement, statement } from '../driver/statement.ts'

/** A receipt to be recorded. */
export interface NewReceipt {
  readonly id: string
  readonly shard: number
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly secret: number
  readonly headers: string
  readonly body: Uint8Array
  /** How long the key is kept: an older receipt of the same key has expired, swept or not. */
  readonly keySeconds: number
}

/** A receipt and the jobs that it brings. */
export interface NewWork {
  readonly receipt: NewReceipt
  readonly jobs: readonly NewJob[]
}

export interface NewJob {
  readonly subscriber: number
  /** Ask for the job to be born leased to the worker of this process. */
  readonly bornLeased: boolean
  /** Where the subscriber wants an order; such a job waits for its turn. */
  readonly lane?: string | undefined
}

/*
 * Accept: receipts and their jobs in one statement, one round trip, one sync.
 * - It waits for the disk by its own word: the acknowledgement follows its commit.
 * - The few tenants and sources of a batch are named once; rows point to them.
 * - Returns only what did not go the usual way, so that a batch of new events returns nothing, and does not look for
 *   any: starting a larger plan costs a small batch more than its rows do.
 */
const accept = (name: string, brought: string, others = ''): Statement =>
  statement(
    name,
    `with ${WITH_DURABLE}, recorded as (
     insert into hookonce.receipt
       (shard, id, tenant, source, event_key, event_type, object_id, occurred_at, secret, headers, body)
     select shard, id, ($10::text[])[source], ($11::text[])[source], event_key, event_type, object_id, occurred_at,
       secret, headers, body
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
       $8::smallint[], $9::text[], $12::bytea[])
       i(shard, id, source, event_key, event_type, object_id, occurred_at, secret, headers, body)
     on conflict (shard, id) do nothing
     returning shard, id
   ), ${brought}
   )
   select i.id, null::integer as held from unnest($2::uuid[]) i(id)
   where (select count(*) from recorded) < cardinality($2::uuid[])
     and not exists (select from recorded r where r.id = i.id)${others}`,
  )

/** For a process without a worker: all jobs are left to others. */
const ACCEPT = accept(
  'accept',
  `brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state)
     select r.shard, r.id, j.subscriber, 'received'
     from recorded r
     join unnest($13::uuid[], $14::integer[]) j(receipt_id, subscriber) on j.receipt_id = r.id`,
)

/*
 * A job is born leased only while its worker is alive and neither subscriber nor source is paused.
 */
const RUNNABLE = `runnable as materialized (
     select s.id
     from hookonce.subscriber s
     join hookonce.source o on o.tenant = s.tenant and o.name = s.source
     where s.paused_at is null and o.paused_at is null
       and exists (select from hookonce.worker w where w.id = $15::integer and w.dead_at is null)
   )`

const STATE = `(case when u.id is null then 'received' else 'processing' end)::hookonce.job_state,
       case when u.id is not null then $15::integer end,
       case when u.id is null then 0 else 1 end,
       case when u.id is null then 0 else 1 end,
       case when u.id is not null then now() end`

const HELD = `
   union all
   select b.receipt_id, b.subscriber from brought b where b.state = 'received' and $15::integer is not null`

const ACCEPT_LEASED = accept(
  'accept_leased',
  `${RUNNABLE}, brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
     select r.shard, r.id, j.subscriber, ${STATE}
     from recorded r
     join unnest($13::uuid[], $14::integer[], $16::boolean[]) j(receipt_id, subscriber, born) on j.receipt_id = r.id
     left join runnable u on j.born and u.id = j.subscriber
     returning receipt_id, subscriber, state`,
  HELD,
)

/* Jobs in lanes are numbered, in the order of arrival, under the lock of their lane. */
const ACCEPT_IN_LANES = accept(
  'accept_in_lanes',
  `${RUNNABLE}, placed as materialized (
     select r.shard, r.id as receipt_id, j.subscriber, j.born, j.lane,
       row_number() over (partition by j.lane order by j.place) as number
     from recorded r
     join unnest($13::uuid[], $14::integer[], $16::boolean[], $17::uuid[], $18::integer[])
       j(receipt_id, subscriber, born, lane, place) on j.receipt_id = r.id
   ), lanes as (
     insert into hookonce.lane as l (shard, id, seq, added)
     select (get_byte(uuid_send(lane), 0) % $19::integer)::smallint, lane,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint + count(*), count(*)
     from placed where lane is not null group by lane order by lane
     on conflict (shard, id) do update set seq = l.seq + excluded.added, added = excluded.added
     returning id, seq, added
   ), brought as (
     insert into hookonce.job
       (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at, due_at, lane, lane_seq)
     select p.shard, p.receipt_id, p.subscriber, ${STATE},
       case when p.lane is null then now() else 'infinity' end, p.lane, l.seq - l.added + p.number
     from placed p
     left join lanes l on l.id = p.lane
     left join runnable u on p.born and u.id = p.subscriber
     returning receipt_id, subscriber, state`,
  HELD,
)

/** What did not go the usual way. */
export interface Unusual {
  readonly id: string
  /** The subscriber whose job was not born leased; null: the receipt was there before. */
  readonly held: number | null
}

/** Inserts a batch, which holds each id once, and tells what did not go the usual way. */
export function insertReceipts(
  db: Queryable,
  batch: readonly NewWork[],
  { worker, shards }: { readonly worker: number | undefined; readonly shards: number },
): Promise<Unusual[]> {
  const sorted = batch.toSorted(byId)
  const parameters = acceptParameters(sorted)
  if (hasLanes(batch)) {
    const lanes = laneParameters(sorted, batch, shards)
    return rows(db, ACCEPT_IN_LANES, [...parameters, ...leaseParameters(sorted, worker), ...lanes])
  }
  if (worker === undefined) return rows(db, ACCEPT, parameters)
  return rows(db, ACCEPT_LEASED, [...parameters, ...leaseParameters(sorted, worker)])
}

// Two receivers with the same events in their batches wait for each other's rows: in one order they
// cannot deadlock.
function byId(a: NewWork, b: NewWork): number {
  return a.receipt.id < b.receipt.id ? -1 : 1
}

function acceptParameters(batch: readonly NewWork[]): unknown[] {
  const receipts = batch.map(({ receipt }) => receipt)
  const sources = new Map<string, { position: number; receipt: NewReceipt }>()
  const positions: number[] = []
  const jobReceipts: string[] = []
  const jobSubscribers: number[] = []
  for (const { receipt, jobs } of batch) {
    const name = `${receipt.tenant}\n${receipt.source}`
    const source = sources.get(name) ?? { position: sources.size + 1, receipt }
    if (source.receipt === receipt) sources.set(name, source)
    positions.push(source.position)
    for (const { subscriber } of jobs) {
      jobReceipts.push(receipt.id)
      jobSubscribers.push(subscriber)
    }
  }
  const named = [...sources.values()].map((source) => source.receipt)
  return [
    binary.smallints(receipts.map((r) => r.shard)),
    binary.uuids(receipts.map((r) => r.id)),
    binary.smallints(positions),
    binary.texts(receipts.map((r) => r.eventKey)),
    binary.texts(receipts.map((r) => r.eventType)),
    binary.texts(receipts.map((r) => r.objectId)),
    binary.timestamps(receipts.map((r) => r.occurredAtMs)),
    binary.smallints(receipts.map((r) => r.secret)),
    binary.texts(receipts.map((r) => r.headers)),
    binary.texts(named.map((r) => r.tenant)),
    binary.texts(named.map((r) => r.source)),
    binary.byteas(receipts.map((r) => r.body)),
    binary.uuids(jobReceipts),
    binary.integers(jobSubscribers),
  ]
}

/** For whom jobs may be born leased, and which of them ask for it. */
function leaseParameters(batch: readonly NewWork[], worker: number | undefined): unknown[] {
  const born = batch.flatMap(({ jobs }) => jobs.map(({ bornLeased }) => bornLeased))
  return [worker ?? null, binary.booleans(born)]
}

function hasLanes(batch: readonly NewWork[]): boolean {
  return batch.some(({ jobs }) => jobs.some(({ lane }) => lane !== undefined))
}

/** The lane of each job, and its place in the order of arrival. */
function laneParameters(sorted: readonly NewWork[], arrived: readonly NewWork[], shards: number): unknown[] {
  const places = new Map(arrived.map((work, place) => [work, place]))
  const jobs = sorted.flatMap((work) =>
    work.jobs.map((job) => ({ lane: job.lane, place: places.get(work) ?? 0 })),
  )
  return [binary.uuids(jobs.map(({ lane }) => lane)), binary.integers(jobs.map(({ place }) => place)), shards]
}
