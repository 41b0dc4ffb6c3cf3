import * as binary from './binary.ts'
import { type Queryable, rows, type Statement, statement } from './statement.ts'

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

export type Accepted =
  /** Recorded now. `held` lists the subscribers whose jobs were not born leased. */
  | { readonly outcome: 'recorded'; readonly held: readonly number[] }
  /** Recorded before, with the body of this hash. */
  | { readonly outcome: 'known'; readonly bodySha256: Uint8Array }

/*
 * Accept: receipts and their jobs in one statement, one round trip, one sync.
 * - The few tenants and sources of a batch are named once; rows point to them.
 * - Returns only what did not go the usual way, so that a batch of new events returns nothing.
 * - A known receipt is looked up only for rows that were not inserted. It may be invisible: it was committed
 *   after this statement's snapshot. The caller asks again.
 * - A job is born leased only while its worker is alive and neither subscriber nor source is paused.
 */
const accept = (name: string, jobs: string): Statement =>
  statement(
    name,
    `with recorded as (
     insert into hookonce.receipt
       (shard, id, tenant, source, event_key, event_type, object_id, occurred_at, secret, headers, body)
     select shard, id, ($10::text[])[source], ($11::text[])[source], event_key, event_type, object_id, occurred_at,
       secret, headers, body
     from unnest($1::smallint[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
       $8::smallint[], $9::text[], $12::bytea[])
       i(shard, id, source, event_key, event_type, object_id, occurred_at, secret, headers, body)
     on conflict (shard, id) do nothing
     returning shard, id
   ), runnable as materialized (
     select s.id
     from hookonce.subscriber s
     join hookonce.source o on o.tenant = s.tenant and o.name = s.source
     where s.paused_at is null and o.paused_at is null
       and exists (select from hookonce.worker w where w.id = $13::integer and w.dead_at is null)
   ), ${jobs}
   )
   select i.id, null::integer as held, known.sha, known.expired
   from unnest($1::smallint[], $2::uuid[], $17::integer[]) i(shard, id, key_seconds)
   left join recorded r on r.id = i.id
   left join lateral (
     select coalesce(k.body_sha256, sha256(k.body), '') as sha,
       k.received_at <= now() - i.key_seconds * interval '1 second'
         and not exists (select from hookonce.job j where j.shard = k.shard and j.receipt_id = k.id
           and j.state in ('received', 'processing', 'retrying', 'attention')) as expired
     from hookonce.receipt k where k.shard = i.shard and k.id = i.id limit 1
   ) known on true
   where r.id is null
   union all
   select b.receipt_id, b.subscriber, null, null from brought b where b.state = 'received' and $13::integer is not null`,
  )

/** What the jobs of both are, but for the order of lanes. */
const STATE = `(case when u.id is null then 'received' else 'processing' end)::hookonce.job_state,
       case when u.id is not null then $13::integer end,
       case when u.id is null then 0 else 1 end,
       case when u.id is null then 0 else 1 end,
       case when u.id is not null then now() end`

const ACCEPT = accept(
  'accept',
  `brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
     select r.shard, r.id, j.subscriber, ${STATE}
     from recorded r
     join unnest($14::uuid[], $15::integer[], $16::boolean[]) j(receipt_id, subscriber, born) on j.receipt_id = r.id
     left join runnable u on j.born and u.id = j.subscriber
     returning receipt_id, subscriber, state`,
)

/* As ACCEPT, for batches with jobs in lanes: these are numbered, in the order of arrival, under the lock of their lane. */
const ACCEPT_IN_LANES = accept(
  'accept_in_lanes',
  `placed as materialized (
     select r.shard, r.id as receipt_id, j.subscriber, j.born, j.lane,
       row_number() over (partition by j.lane order by j.place) as number
     from recorded r
     join unnest($14::uuid[], $15::integer[], $16::boolean[], $18::uuid[], $19::integer[])
       j(receipt_id, subscriber, born, lane, place) on j.receipt_id = r.id
   ), lanes as (
     insert into hookonce.lane as l (shard, id, seq, added)
     select (get_byte(uuid_send(lane), 0) % $20::integer)::smallint, lane,
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
)

interface AcceptRow {
  id: string
  held: number | null
  sha: Buffer | null
  expired: boolean | null
}

/** Records a batch. It holds each id once. Results are in the order of the batch. */
export async function acceptReceipts(
  db: Queryable,
  batch: readonly NewWork[],
  { worker, shards }: { readonly worker: number | undefined; readonly shards: number },
): Promise<Accepted[]> {
  const sorted = batch.toSorted(byId)
  const unusual = hasLanes(batch)
    ? await rows<AcceptRow>(db, ACCEPT_IN_LANES, [
        ...acceptParameters(sorted, worker),
        ...laneParameters(sorted, batch, shards),
      ])
    : await rows<AcceptRow>(db, ACCEPT, acceptParameters(sorted, worker))
  if (unusual.length === 0) return batch.map(() => RECORDED)

  const known = new Map<string, AcceptRow>()
  const held = new Map<string, number[]>()
  for (const row of unusual) {
    if (row.held === null) known.set(row.id, row)
    else held.set(row.id, [...(held.get(row.id) ?? []), row.held])
  }

  const expired = batch.filter(({ receipt }) => known.get(receipt.id)?.expired === true)
  if (expired.length > 0) await forgetExpired(db, expired)
  const again = batch.filter(({ receipt }) => isUndecided(known.get(receipt.id)))
  const redone = again.length === 0 ? [] : await acceptReceipts(db, again, { worker, shards })
  const redoneById = new Map(again.map(({ receipt }, index) => [receipt.id, redone[index]]))

  return batch.map(({ receipt }) => {
    const second = redoneById.get(receipt.id)
    if (second) return second
    const row = known.get(receipt.id)
    if (!row) return { outcome: 'recorded', held: held.get(receipt.id) ?? [] }
    return { outcome: 'known', bodySha256: row.sha ?? NO_HASH }
  })
}

const RECORDED: Accepted = { outcome: 'recorded', held: [] }
const NO_HASH = new Uint8Array()

// Two receivers with the same events in their batches wait for each other's rows: in one order they cannot deadlock.
function byId(a: NewWork, b: NewWork): number {
  return a.receipt.id < b.receipt.id ? -1 : 1
}

// Committed by another receiver after our snapshot, or expired and forgotten just now: the next look decides.
function isUndecided(row: AcceptRow | undefined): boolean {
  return row !== undefined && (row.sha === null || row.expired === true)
}

function acceptParameters(batch: readonly NewWork[], worker: number | undefined): unknown[] {
  const receipts = batch.map(({ receipt }) => receipt)
  const sources = new Map<string, { position: number; receipt: NewReceipt }>()
  const positions: number[] = []
  const jobReceipts: string[] = []
  const jobSubscribers: number[] = []
  const jobsBorn: boolean[] = []
  for (const { receipt, jobs } of batch) {
    const name = `${receipt.tenant}\n${receipt.source}`
    const source = sources.get(name) ?? { position: sources.size + 1, receipt }
    if (source.receipt === receipt) sources.set(name, source)
    positions.push(source.position)
    for (const { subscriber, bornLeased } of jobs) {
      jobReceipts.push(receipt.id)
      jobSubscribers.push(subscriber)
      jobsBorn.push(bornLeased)
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
    worker ?? null,
    binary.uuids(jobReceipts),
    binary.integers(jobSubscribers),
    binary.booleans(jobsBorn),
    binary.integers(receipts.map((r) => r.keySeconds)),
  ]
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

/*
 * A receipt past its key's retention that was not swept yet. One statement, so that a concurrent twin finds
 * either all of it or nothing. A receipt with live jobs has not expired: its work is not done. Locked in key
 * order first, as twins find the same receipts.
 */
const FORGET_EXPIRED = statement(
  'forget_expired',
  `with found as materialized (
     select r.shard, r.id
     from hookonce.receipt r
     join unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
       on r.shard = i.shard and r.id = i.id and r.received_at <= now() - i.key_seconds * interval '1 second'
     where not exists (select from hookonce.job j where j.shard = r.shard and j.receipt_id = r.id
       and j.state in ('received', 'processing', 'retrying', 'attention'))
     order by r.shard, r.id
     for update of r
   ), expired as (
     delete from hookonce.receipt r using found f where r.shard = f.shard and r.id = f.id
     returning r.shard, r.id
   ), jobs as (
     delete from hookonce.job j using expired e where j.shard = e.shard and j.receipt_id = e.id
   ), attempts as (
     delete from hookonce.attempt a using expired e where a.shard = e.shard and a.receipt_id = e.id
   ), steps as (
     delete from hookonce.step s using expired e where s.shard = e.shard and s.receipt_id = e.id
   ), duplicates as (
     delete from hookonce.duplicate d using expired e where d.shard = e.shard and d.receipt_id = e.id
   )
   select id from expired`,
)

async function forgetExpired(db: Queryable, batch: readonly NewWork[]): Promise<void> {
  await rows(db, FORGET_EXPIRED, [
    binary.smallints(batch.map(({ receipt }) => receipt.shard)),
    binary.uuids(batch.map(({ receipt }) => receipt.id)),
    binary.integers(batch.map(({ receipt }) => receipt.keySeconds)),
  ])
}
