import type { Pool } from 'pg'
import { schemaOf } from '../driver/schema.ts'
import { change, type Queryable, rows, type Statement, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'
import { drawFence } from '../outbox/lanes.ts'

/*
 * Holds the work of one tenant while it is moved: no job is claimed, no message is published, and
 * no run is in flight.
 */

/** The reason of the pauses that a move makes. Pauses of operators stay. */
const MARK = 'hookonce: the tenant is being moved to another ledger'

const PAUSE = statement(
  'pause_moving_tenant',
  `update ledger.source set paused_at = now(), pause_reason = $2 where tenant = $1 and paused_at is null`,
)
const RESUME = statement(
  'resume_moved_tenant',
  `update ledger.source set paused_at = null, pause_reason = null where tenant = $1 and pause_reason = $2`,
)
const RUNNING = statement(
  'runs_of_tenant',
  `select count(*)::integer as count from ledger.job j
   join ledger.subscriber s on s.id = j.subscriber and s.tenant = $1 where j.state = 'processing'`,
)
/* A later write of the run has an outdated fence, and changes nothing. */
const FENCE = statement(
  'fence_runs_of_tenant',
  `update ledger.job j set state = 'retrying', worker = null, fence = fence + 1, due_at = now(),
     reason = 'its tenant was moved to another ledger while it ran'
   from ledger.subscriber s, generate_series(0, $2::integer - 1) n(shard)
   where j.shard = n.shard and s.id = j.subscriber and s.tenant = $1 and j.state = 'processing'`,
)
const LANES = `(select distinct shard, lane from ledger.outbox where tenant = $1 and state = 'waiting') m`
const HOLD_LANES = statement(
  'hold_lanes_of_tenant',
  `update ledger.outbox_lane l set due_at = 'infinity' from ${LANES}
   where l.shard = m.shard and l.id = m.lane and l.worker is null and l.due_at < 'infinity'`,
)
const LEASED_LANES = statement(
  'leased_lanes_of_tenant',
  `select count(*)::integer as count from ${LANES}
   join ledger.outbox_lane l on l.shard = m.shard and l.id = m.lane where l.worker is not null`,
)
/*
 * All lanes of a statement get the same fence, drawn before: Citus allows no sequence in an UPDATE.
 * No lease has this number, and a later lease draws a higher one.
 */
const FENCE_LANES = statement(
  'fence_lanes_of_tenant',
  `update ledger.outbox_lane l set worker = null, due_at = 'infinity', fence = $2::bigint from ${LANES}
   where l.shard = m.shard and l.id = m.lane and l.worker is not null`,
)
const RELEASE_LANES = statement(
  'release_lanes_of_tenant',
  `update ledger.outbox_lane l set due_at = now(), fence = $2::bigint from ${LANES}
   where l.shard = m.shard and l.id = m.lane and l.worker is null and l.due_at = 'infinity'`,
)
const REPLAYS = statement(
  'replays_of_tenant',
  `select count(*)::integer as count from ledger.bulk_replay
   where state = 'running' and (tenant is null or tenant = $1)`,
)

export async function holdJobs(db: Queryable, tenant: string): Promise<void> {
  await change(db, PAUSE, [tenant, MARK])
}

/** Undoes both holds. */
export async function letGoOf(db: Queryable, tenant: string): Promise<void> {
  await change(db, RESUME, [tenant, MARK])
  await change(db, RELEASE_LANES, [tenant, await drawFence(db)])
}

export async function runsOf(db: Queryable, tenant: string): Promise<number> {
  return count(db, RUNNING, tenant)
}

export async function fenceRuns({ pool, shards }: LedgerTables, tenant: string): Promise<void> {
  await change(pool, FENCE, [tenant, shards])
}

/** Holds the lanes that no relay has leased. Returns how many are leased. */
export async function holdLanes(db: Queryable, tenant: string): Promise<number> {
  await change(db, HOLD_LANES, [tenant])
  return count(db, LEASED_LANES, tenant)
}

export async function fenceLanes(db: Queryable, tenant: string): Promise<void> {
  await change(db, FENCE_LANES, [tenant, await drawFence(db)])
}

/** Replays of many jobs that change jobs of this tenant. */
export async function replaysOf(db: Queryable, tenant: string): Promise<number> {
  return count(db, REPLAYS, tenant)
}

/** Keys of inline sources are not stored by tenant, so they cannot be moved with one. */
export async function hasInlineKeys(db: Pick<Pool, 'query'>): Promise<boolean> {
  const table = `"${schemaOf(db)}".inline_key`
  const found = await db.query('select to_regclass($1) is not null as exists', [table])
  if (found.rows[0]?.exists !== true) return false
  return ((await db.query(`select from ${table} limit 1`)).rowCount ?? 0) > 0
}

async function count(db: Queryable, question: Statement, tenant: string): Promise<number> {
  const [row] = await rows<{ count: number }>(db, question, [tenant])
  return row?.count ?? 0
}
