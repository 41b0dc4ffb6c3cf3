import type { Pool, PoolClient } from 'pg'
import { inSchemaText, schemaOf } from '../driver/schema.ts'

/*
 * Holds the work of one tenant while it is moved: no job is claimed, no message is published, and
 * no run is in flight.
 */

/** The reason of the pauses that a move makes. Pauses of operators stay. */
const MARK = 'hookonce: the tenant is being moved to another ledger'

const PAUSE = `update ledger.source set paused_at = now(), pause_reason = $2 where tenant = $1 and paused_at is null`
const RESUME = `update ledger.source set paused_at = null, pause_reason = null where tenant = $1 and pause_reason = $2`
const RUNNING = `select count(*)::integer as count from ledger.job j
  join ledger.subscriber s on s.id = j.subscriber and s.tenant = $1 where j.state = 'processing'`
/* A later write of the run has an outdated fence, and changes nothing. */
const FENCE = `update ledger.job j set state = 'retrying', worker = null, fence = fence + 1, due_at = now(),
    reason = 'its tenant was moved to another ledger while it ran'
  from ledger.subscriber s where s.id = j.subscriber and s.tenant = $1 and j.state = 'processing'`
const LANES = `select distinct lane from ledger.outbox where tenant = $1 and state = 'waiting'`
const HOLD_LANES = `update ledger.outbox_lane set due_at = 'infinity'
  where id in (${LANES}) and worker is null and due_at < 'infinity'`
const LEASED_LANES = `select count(*)::integer as count from ledger.outbox_lane
  where id in (${LANES}) and worker is not null`
const FENCE_LANES = `update ledger.outbox_lane set worker = null, due_at = 'infinity', fence = nextval('ledger.outbox_fence')
  where id in (${LANES}) and worker is not null`
const RELEASE_LANES = `update ledger.outbox_lane set due_at = now(), fence = nextval('ledger.outbox_fence')
  where id in (${LANES}) and worker is null and due_at = 'infinity'`
const REPLAYS = `select count(*)::integer as count from ledger.bulk_replay
  where state = 'running' and (tenant is null or tenant = $1)`

type Db = Pick<Pool | PoolClient, 'query'>

export async function holdJobs(db: Db, tenant: string): Promise<void> {
  await send(db, PAUSE, [tenant, MARK])
}

/** Undoes both holds. */
export async function letGoOf(db: Db, tenant: string): Promise<void> {
  await send(db, RESUME, [tenant, MARK])
  await send(db, RELEASE_LANES, [tenant])
}

export async function runsOf(db: Db, tenant: string): Promise<number> {
  return count(db, RUNNING, tenant)
}

export async function fenceRuns(db: Db, tenant: string): Promise<void> {
  await send(db, FENCE, [tenant])
}

/** Holds the lanes that no relay has leased. Returns how many are leased. */
export async function holdLanes(db: Db, tenant: string): Promise<number> {
  await send(db, HOLD_LANES, [tenant])
  return count(db, LEASED_LANES, tenant)
}

export async function fenceLanes(db: Db, tenant: string): Promise<void> {
  await send(db, FENCE_LANES, [tenant])
}

/** Replays of many jobs that change jobs of this tenant. */
export async function replaysOf(db: Db, tenant: string): Promise<number> {
  return count(db, REPLAYS, tenant)
}

/** Keys of inline sources are not stored by tenant, so they cannot be moved with one. */
export async function hasInlineKeys(db: Db): Promise<boolean> {
  const table = `"${schemaOf(db)}".inline_key`
  const found = await db.query('select to_regclass($1) is not null as exists', [table])
  if (found.rows[0]?.exists !== true) return false
  return ((await db.query(`select from ${table} limit 1`)).rowCount ?? 0) > 0
}

async function send(db: Db, text: string, values: unknown[]): Promise<void> {
  await db.query(inSchemaText(text, schemaOf(db)), values)
}

async function count(db: Db, text: string, tenant: string): Promise<number> {
  const { rows } = await db.query(inSchemaText(text, schemaOf(db)), [tenant])
  return Number(rows[0]?.count ?? 0)
}
