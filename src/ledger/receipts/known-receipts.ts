import type { Pool } from 'pg'
import { NO_SECRET } from '../../model/reconciled.ts'
import { DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { rows, statement } from '../driver/statement.ts'
import { UNFINISHED } from '../jobs/states.ts'
import { dropReceipts } from './retention.ts'

/**
 * Identifies the server by the start time of its process. Behind a pooler, our connections survive
 * a failover and do not show it. On every hosted PostgreSQL, every role may read the start time,
 * but not the timeline.
 */
export const SERVER = 'extract(epoch from pg_postmaster_start_time())::float8'

/*
 * Looks up receipts that already exist. If one was deleted meanwhile, the caller records it.
 *
 * A duplicate is acknowledged on the result of this statement, so the receipt must be as durable as
 * its accept promised. If a commit's wait for a synchronous standby was interrupted, its rows are
 * visible here before they are on the standby, and a statement that writes nothing does not wait.
 * So with synchronous standbys, this statement writes an empty message to the log: its own commit
 * then waits until the standbys have everything before it. It does not do so with
 * `synchronous_commit = local`, which an operator sets while a standby is down: the accept did not
 * wait either.
 */
const KNOWN = statement(
  'known',
  `with replicated as materialized (
     select pg_logical_emit_message(true, 'hookonce', ''), ${DURABLE}
     where current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> 'local'
   )
   select k.id, ${SERVER} as server, coalesce(k.body_sha256, sha256(k.body), '') as "bodySha256",
     k.secret <= ${NO_SECRET} as reconciled,
     i.key_seconds - extract(epoch from now() - k.received_at)::float8 as "secondsLeft",
     k.received_at <= now() - i.key_seconds * interval '1 second'
       and not exists (select from ledger.job j where j.shard = k.shard and j.receipt_id = k.id
         and j.state in ${UNFINISHED}) as expired
   from (select count(*) from replicated) waited_for
   cross join unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
   cross join lateral (
     select * from ledger.receipt r where r.shard = i.shard and r.id = i.id limit 1
   ) k`,
)

/** A receipt that already exists. */
export interface KnownReceipt {
  readonly bodySha256: Uint8Array
  /**
   * No delivery brought it: it was reconciled or imported. Its body differs in form from that of a
   * delivery, or there is none.
   */
  readonly reconciled: boolean
  /** The remaining retention of its key; not positive if only unfinished work keeps the receipt. */
  readonly secondsLeft: number
  /** The server that reported it; a different number after a failover or a restart. */
  readonly server: number
}

interface KnownRow extends KnownReceipt {
  readonly id: string
  readonly expired: boolean
}

/** Where the receipt of an event is, and how long its key is kept. */
export interface ReceiptKey {
  readonly shard: number
  readonly id: string
  readonly keySeconds: number
}

/** Returns the existing receipts by id. Deletes expired ones and leaves them out. */
export async function knownReceipts(
  pool: Pool,
  batch: readonly ReceiptKey[],
): Promise<Map<string, KnownReceipt>> {
  if (batch.length === 0) return new Map()
  const found = await rows<KnownRow>(pool, KNOWN, keyParameters(batch))
  const expired = new Set(found.filter((row) => row.expired).map((row) => row.id))
  if (expired.size > 0)
    await forgetExpired(
      pool,
      batch.filter(({ id }) => expired.has(id)),
    )
  return new Map(found.filter((row) => !row.expired).map((row) => [row.id, row]))
}

/*
 * Locks receipts past their key's retention that no sweep has deleted yet. In key order, because
 * two receivers may find the same receipts. The delete that follows checks again for unfinished
 * jobs (retention.ts).
 */
const LOCK_EXPIRED = statement(
  'lock_expired',
  `select r.shard, r.id
   from ledger.receipt r
   join unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
     on r.shard = i.shard and r.id = i.id and r.received_at <= now() - i.key_seconds * interval '1 second'
   order by r.shard, r.id
   for update of r`,
)

/** In one transaction, so that another receiver sees either all of it or nothing. */
function forgetExpired(pool: Pool, batch: readonly ReceiptKey[]): Promise<void> {
  return inTransaction(pool, async (client) => {
    const locked = await rows<{ shard: number; id: string }>(client, LOCK_EXPIRED, keyParameters(batch))
    for (const shard of new Set(locked.map((row) => row.shard))) {
      const ids = locked.filter((row) => row.shard === shard).map((row) => row.id)
      await dropReceipts(client, shard, ids)
    }
    await client.query('commit')
  })
}

function keyParameters(batch: readonly ReceiptKey[]): unknown[] {
  return [
    binary.smallints(batch.map(({ shard }) => shard)),
    binary.uuids(batch.map(({ id }) => id)),
    binary.integers(batch.map(({ keySeconds }) => keySeconds)),
  ]
}
