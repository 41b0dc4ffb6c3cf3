import { DURABLE } from '../../sql/durable.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import type { JobRef } from './job-ref.ts'

/*
 * Some statements guard a transaction by the fence of its run (`require_live`, `record_step`,
 * `complete_with_step`). They must fail if the fence is stale. Changing nothing is not enough: the
 * COMMIT is sent right behind, in the same round trip, and only a failed transaction turns it into
 * a rollback. Hence these statements divide by the number of live rows. The job's row stays locked
 * until the commit, so that no rescuer can take the job in between. The commit waits for the disk,
 * whatever the handler set before.
 */

/** SQLSTATE of a division by zero: in these statements, a stale fence. */
export const STALE_FENCE = '22012'

export const REQUIRE_LIVE = statement(
  'require_live',
  `with live as materialized (
     select 1 from ledger.job
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     for update
   )
   select 1 / count(*), ${DURABLE} from live`,
)

/** Begins a transaction that requires a live fence. */
export async function requireLive(db: Queryable, job: JobRef): Promise<void> {
  await rows(db, REQUIRE_LIVE, [job.shard, job.receiptId, job.subscriber, job.fence])
}

const IS_LIVE = statement(
  'is_live',
  `select 1 from ledger.job
   where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
     and state = 'processing'`,
)

/** Whether this run may still be in progress, as far as the ledger knows. */
export async function isLive(db: Queryable, run: JobRef): Promise<boolean> {
  const found = await rows(db, IS_LIVE, [run.shard, run.receiptId, run.subscriber, run.fence])
  return found.length === 1
}
