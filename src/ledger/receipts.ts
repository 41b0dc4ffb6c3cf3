import * as binary from './binary.ts'
import { type Queryable, rows, statement } from './statement.ts'

/** A receipt to be recorded, and the jobs that it brings. */
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
  readonly bodySha256: Uint8Array
  readonly headers: string
  readonly body: Uint8Array
  /** How long the key is kept: an older receipt of the same key has expired, swept or not. */
  readonly keySeconds: number
  readonly jobs: readonly NewJob[]
}

export interface NewJob {
  readonly subscriber: number
  /** Ask for the job to be born leased to the worker of this process. */
  readonly bornLeased: boolean
}

export type Accepted =
  /** Recorded now. `held` lists the subscribers whose jobs were not born leased. */
  | { readonly outcome: 'recorded'; readonly held: readonly number[] }
  | { readonly outcome: 'known'; readonly sameBody: boolean }

/*
 * Accept: receipts and their jobs in one statement, one round trip, one sync.
 * - Returns only what did not go the usual way, so that a batch of new events returns nothing.
 * - A known receipt is looked up only for rows that were not inserted. It may be invisible: it was committed
 *   after this statement's snapshot. The caller asks again.
 * - A job is born leased only while its worker is alive and neither subscriber nor source is paused.
 */
const ACCEPT = statement(
  'accept',
  `with recorded as (
     insert into hookonce.receipt
       (shard, id, tenant, source, event_key, event_type, object_id, occurred_at, secret, body_sha256, headers, body)
     select * from unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::timestamptz[], $9::smallint[], $10::bytea[], $11::text[], $12::bytea[])
     on conflict (shard, id) do nothing
     returning shard, id
   ), runnable as materialized (
     select s.id
     from hookonce.subscriber s
     join hookonce.source o on o.tenant = s.tenant and o.name = s.source
     where s.paused_at is null and o.paused_at is null
       and exists (select from hookonce.worker w where w.id = $13::integer and w.dead_at is null)
   ), brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
     select r.shard, r.id, j.subscriber,
       (case when u.id is null then 'received' else 'processing' end)::hookonce.job_state,
       case when u.id is not null then $13::integer end,
       case when u.id is null then 0 else 1 end,
       case when u.id is null then 0 else 1 end,
       case when u.id is not null then now() end
     from recorded r
     join unnest($14::uuid[], $15::integer[], $16::boolean[]) j(receipt_id, subscriber, born) on j.receipt_id = r.id
     left join runnable u on j.born and u.id = j.subscriber
     returning receipt_id, subscriber, state
   )
   select i.id, null::integer as held, known.sha, known.expired
   from unnest($1::smallint[], $2::uuid[], $17::integer[]) i(shard, id, key_seconds)
   left join recorded r on r.id = i.id
   left join lateral (
     select k.body_sha256 as sha,
       k.received_at <= now() - i.key_seconds * interval '1 second'
         and not exists (select from hookonce.job j where j.shard = k.shard and j.receipt_id = k.id
           and j.state in ('received', 'processing', 'retrying', 'attention')) as expired
     from hookonce.receipt k where k.shard = i.shard and k.id = i.id limit 1
   ) known on true
   where r.id is null
   union all
   select b.receipt_id, b.subscriber, null, null from brought b where b.state = 'received' and $13::integer is not null`,
)

interface AcceptRow {
  id: string
  held: number | null
  sha: Buffer | null
  expired: boolean | null
}

/** Records a batch. `receipts` holds each id once. Results are in the order of the batch. */
export async function acceptReceipts(
  db: Queryable,
  receipts: readonly NewReceipt[],
  worker: number | undefined,
): Promise<Accepted[]> {
  const unusual = await rows<AcceptRow>(db, ACCEPT, acceptParameters(receipts, worker))
  if (unusual.length === 0) return receipts.map(() => RECORDED)

  const known = new Map<string, AcceptRow>()
  const held = new Map<string, number[]>()
  for (const row of unusual) {
    if (row.held === null) known.set(row.id, row)
    else held.set(row.id, [...(held.get(row.id) ?? []), row.held])
  }

  const expired = receipts.filter((receipt) => known.get(receipt.id)?.expired === true)
  if (expired.length > 0) await forgetExpired(db, expired)
  const again = receipts.filter((receipt) => isUndecided(known.get(receipt.id)))
  const redone = again.length === 0 ? [] : await acceptReceipts(db, again, worker)
  const redoneById = new Map(again.map((receipt, index) => [receipt.id, redone[index]]))

  return receipts.map((receipt) => {
    const second = redoneById.get(receipt.id)
    if (second) return second
    const row = known.get(receipt.id)
    if (!row) return { outcome: 'recorded', held: held.get(receipt.id) ?? [] }
    return { outcome: 'known', sameBody: row.sha?.equals(receipt.bodySha256) ?? false }
  })
}

const RECORDED: Accepted = { outcome: 'recorded', held: [] }

// Committed by another receiver after our snapshot, or expired and forgotten just now: the next look decides.
function isUndecided(row: AcceptRow | undefined): boolean {
  return row !== undefined && (row.sha === null || row.expired === true)
}

function acceptParameters(receipts: readonly NewReceipt[], worker: number | undefined): unknown[] {
  const jobs = receipts.flatMap((receipt) => receipt.jobs.map((job) => ({ receipt, job })))
  return [
    binary.smallints(receipts.map((r) => r.shard)),
    binary.uuids(receipts.map((r) => r.id)),
    binary.texts(receipts.map((r) => r.tenant)),
    binary.texts(receipts.map((r) => r.source)),
    binary.texts(receipts.map((r) => r.eventKey)),
    binary.texts(receipts.map((r) => r.eventType)),
    binary.texts(receipts.map((r) => r.objectId)),
    binary.timestamps(receipts.map((r) => r.occurredAtMs)),
    binary.smallints(receipts.map((r) => r.secret)),
    binary.byteas(receipts.map((r) => r.bodySha256)),
    binary.texts(receipts.map((r) => r.headers)),
    binary.byteas(receipts.map((r) => r.body)),
    worker ?? null,
    binary.uuids(jobs.map(({ receipt }) => receipt.id)),
    binary.integers(jobs.map(({ job }) => job.subscriber)),
    binary.booleans(jobs.map(({ job }) => job.bornLeased)),
    binary.integers(receipts.map((r) => r.keySeconds)),
  ]
}

/*
 * A receipt past its key's retention that was not swept yet. One statement, so that a concurrent twin finds
 * either all of it or nothing. A receipt with live jobs has not expired: its work is not done.
 */
const FORGET_EXPIRED = statement(
  'forget_expired',
  `with expired as (
     delete from hookonce.receipt r
     using unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
     where r.shard = i.shard and r.id = i.id and r.received_at <= now() - i.key_seconds * interval '1 second'
       and not exists (select from hookonce.job j where j.shard = r.shard and j.receipt_id = r.id
         and j.state in ('received', 'processing', 'retrying', 'attention'))
     returning r.shard, r.id
   ), jobs as (
     delete from hookonce.job j using expired e where j.shard = e.shard and j.receipt_id = e.id
   ), attempts as (
     delete from hookonce.attempt a using expired e where a.shard = e.shard and a.receipt_id = e.id
   ), duplicates as (
     delete from hookonce.duplicate d using expired e where d.shard = e.shard and d.receipt_id = e.id
   )
   select id from expired`,
)

async function forgetExpired(db: Queryable, receipts: readonly NewReceipt[]): Promise<void> {
  await rows(db, FORGET_EXPIRED, [
    binary.smallints(receipts.map((r) => r.shard)),
    binary.uuids(receipts.map((r) => r.id)),
    binary.integers(receipts.map((r) => r.keySeconds)),
  ])
}
