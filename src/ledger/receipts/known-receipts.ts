import type { Pool } from 'pg'
import { DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { rows, statement } from '../driver/statement.ts'
import type { NewWork } from '../jobs/accept.ts'
import { UNFINISHED } from '../jobs/states.ts'
import { dropReceipts } from './retention.ts'

/**
 * Names the server that answers, by the start of its process: behind a pooler, connections of ours
 * survive a failover. Readable by every role on every hosted PostgreSQL, which the timeline is not.
 */
export const SERVER = 'extract(epoch from pg_postmaster_start_time())::float8'

/*
 * What is known of receipts that were there before. One may be gone again: the caller records it
 * then.
 *
 * A duplicate is acknowledged on the word of this statement, so its receipt must be as durable as
 * its accept promised. A commit whose wait for a synchronous standby was cut short is visible here
 * before it is there, and a statement that writes nothing waits for no standby. So where there are
 * synchronous standbys, this one writes an empty message to the log: its own commit then waits
 * until they have everything before it, the receipt included. Not under `local`, by which an
 * operator goes on while the standby is down: the accept did not wait either.
 */
const KNOWN = statement(
  'known',
  `with replicated as materialized (
     select pg_logical_emit_message(true, 'hookonce', ''), ${DURABLE}
     where current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') <> 'local'
   )
   select k.id, ${SERVER} as server, coalesce(k.body_sha256, sha256(k.body), '') as "bodySha256",
     i.key_seconds - extract(epoch from now() - k.received_at)::float8 as "secondsLeft",
     k.received_at <= now() - i.key_seconds * interval '1 second'
       and not exists (select from hookonce.job j where j.shard = k.shard and j.receipt_id = k.id
         and j.state in ${UNFINISHED}) as expired
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
  pool: Pool,
  batch: readonly NewWork[],
): Promise<Map<string, KnownReceipt>> {
  if (batch.length === 0) return new Map()
  const found = await rows<KnownRow>(pool, KNOWN, keyParameters(batch))
  const expired = new Set(found.filter((row) => row.expired).map((row) => row.id))
  if (expired.size > 0)
    await forgetExpired(
      pool,
      batch.filter(({ receipt }) => expired.has(receipt.id)),
    )
  return new Map(found.filter((row) => !row.expired).map((row) => [row.id, row]))
}

/*
 * Receipts past their key's retention that were not swept yet. Locked in key order, as twins find
 * the same receipts; then dropped as a sweep does it, which looks again for live jobs
 * (retention.ts).
 */
const LOCK_EXPIRED = statement(
  'lock_expired',
  `select r.shard, r.id
   from hookonce.receipt r
   join unnest($1::smallint[], $2::uuid[], $3::integer[]) i(shard, id, key_seconds)
     on r.shard = i.shard and r.id = i.id and r.received_at <= now() - i.key_seconds * interval '1 second'
   order by r.shard, r.id
   for update of r`,
)

/** In one transaction, so that a concurrent twin finds either all of it or nothing. */
function forgetExpired(pool: Pool, batch: readonly NewWork[]): Promise<void> {
  return inTransaction(pool, async (client) => {
    const locked = await rows<{ shard: number; id: string }>(client, LOCK_EXPIRED, keyParameters(batch))
    for (const shard of new Set(locked.map((row) => row.shard))) {
      const ids = locked.filter((row) => row.shard === shard).map((row) => row.id)
      await dropReceipts(client, shard, ids)
    }
    await client.query('commit')
  })
}

function keyParameters(batch: readonly NewWork[]): unknown[] {
  return [
    binary.smallints(batch.map(({ receipt }) => receipt.shard)),
    binary.uuids(batch.map(({ receipt }) => receipt.id)),
    binary.integers(batch.map(({ receipt }) => receipt.keySeconds)),
  ]
}
