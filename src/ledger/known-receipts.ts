import * as binary from './binary.ts'
import type { NewWork } from './insert-receipts.ts'
import { type Queryable, rows, statement } from './statement.ts'

/**
 * Names the server that answers, by the start of its process: behind a pooler, connections of ours survive a failover.
 * Readable by every role on every hosted PostgreSQL, which the timeline is not.
 */
export const SERVER = 'extract(epoch from pg_postmaster_start_time())::float8'

/*
 * What is known of receipts that were there before. One may be gone again: the caller records it then.
 *
 * A duplicate is acknowledged on the word of this statement, so its receipt must be as durable as its accept promised. A
 * commit whose wait for a synchronous standby was cut short is visible here before it is there, and a statement that writes
 * nothing waits for no standby. So where there are synchronous standbys, this one writes an empty message to the log: its
 * own commit then waits until they have everything before it, the receipt included.
 */
const KNOWN = statement(
  'known',
  `with replicated as materialized (
     select pg_logical_emit_message(true, 'hookonce', ''),
       case when current_setting('synchronous_commit') in ('off', 'local')
         then set_config('synchronous_commit', 'on', true) end
     where current_setting('synchronous_standby_names') <> ''
   )
   select k.id, ${SERVER} as server, coalesce(k.body_sha256, sha256(k.body), '') as "bodySha256",
     i.key_seconds - extract(epoch from now() - k.received_at)::float8 as "secondsLeft",
     k.received_at <= now() - i.key_seconds * interval '1 second'
       and not exists (select from hookonce.job j where j.shard = k.shard and j.receipt_id = k.id
         and j.state in ('received', 'processing', 'retrying', 'attention')) as expired
   from (select count(*) from replicated) waited_for
   cross join unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
   cross join lateral (
     select * from hookonce.receipt r where r.shard = i.shard and r.id = i.id limit 1
   ) k`,
)

/** A receipt that was there before. */
export interface KnownReceipt {
  readonly bodySha256: Uint8Array
  /** Of its key's retention. None, where it is only kept for its unfinished work. */
  readonly secondsLeft: number
  /** Which server reported it; another number after a failover or a restart. */
  readonly server: number
}

interface KnownRow extends KnownReceipt {
  readonly id: string
  readonly expired: boolean
}

/** Those that stand, by id. Those that have expired are forgotten, and not among them. */
export async function knownReceipts(
  db: Queryable,
  batch: readonly NewWork[],
): Promise<Map<string, KnownReceipt>> {
  if (batch.length === 0) return new Map()
  const found = await rows<KnownRow>(db, KNOWN, keyParameters(batch))
  const expired = new Set(found.filter((row) => row.expired).map((row) => row.id))
  if (expired.size > 0) {
    const forgotten = batch.filter(({ receipt }) => expired.has(receipt.id))
    await rows(db, FORGET_EXPIRED, keyParameters(forgotten))
  }
  return new Map(found.filter((row) => !row.expired).map((row) => [row.id, row]))
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

function keyParameters(batch: readonly NewWork[]): unknown[] {
  return [
    binary.smallints(batch.map(({ receipt }) => receipt.shard)),
    binary.uuids(batch.map(({ receipt }) => receipt.id)),
    binary.integers(batch.map(({ receipt }) => receipt.keySeconds)),
  ]
}
