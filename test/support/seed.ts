import type { JobRef } from '../../src/ledger/jobs/job-ref.ts'
import { type Enlisted, enlistWorker } from '../../src/ledger/jobs/workers.ts'
import type { TestDatabase } from './database.ts'

export interface Seed {
  readonly source?: string
  readonly subscriber?: string
  /** The shard of all receipts. Default: the shard of each id. */
  readonly shard?: number
  /** The age of the receipts. */
  readonly ageDays?: number
  readonly state?: 'received' | 'processed' | 'failed'
}

/** Inserts receipts with one job each directly into the ledger. Returns the subscriber's number. */
export async function seedJobs(db: TestDatabase, count: number, seed: Seed = {}): Promise<number> {
  const { source = 'test', subscriber = 'app', shard, ageDays = 0, state = 'received' } = seed
  const id = await seedSubscriber(db, source, subscriber)
  await db.rows(
    `with made as (
       insert into hookonce.receipt (shard, id, received_at, secret, tenant, source, event_key, event_type, body_sha256, headers, body)
       select coalesce($2::integer, get_byte(decode(left(md5, 2), 'hex'), 0) % 16), md5::uuid,
         now() - $3::float8 * interval '1 day' + n * interval '1 millisecond', 1, 'default', $1, 'evt_' || md5, 'count.seed',
         sha256('{}'), '', convert_to('{"id":"evt_' || md5 || '","type":"count.seed"}', 'UTF8')
       from (select n, md5(random()::text || n) as md5 from generate_series(1, $4::integer) n) ids
       returning shard, id
     )
     insert into hookonce.job (shard, receipt_id, subscriber, state, fence, attempt, started_at, finished_at)
     select shard, id, $5::integer, $6::hookonce.job_state, finished::integer, finished::integer,
       case when finished then now() end, case when finished then now() end
     from made, (select $6 <> 'received' as finished) f`,
    [source, shard ?? null, ageDays, count, id, state],
  )
  return id
}

async function seedSubscriber(db: TestDatabase, source: string, name: string): Promise<number> {
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', $1, 7776000, 2592000)
     on conflict do nothing`,
    [source],
  )
  return db.number(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', $1, $2, '*')
     on conflict (tenant, source, name) do update set seen_at = now() returning id`,
    [source, name],
  )
}

export async function seedWorker(db: TestDatabase, leaseMs?: number): Promise<number> {
  return (await seedEnlisted(db, leaseMs)).id
}

/** A worker that can renew its lease. */
export function seedEnlisted(db: TestDatabase, leaseMs = 30_000): Promise<Enlisted> {
  return enlistWorker(db.pool, { leaseMs, host: 'test', pid: 1, serves: [] })
}

/** Like the record of an ended run. */
export function settlement(job: JobRef, state: 'processed' | 'retrying' | 'failed' | 'received') {
  const { shard, receiptId, subscriber, fence } = job
  return {
    shard,
    receiptId,
    subscriber,
    fence,
    state,
    delayMs: 0,
    returnAttempt: state === 'received',
    reason: state === 'processed' || state === 'received' ? undefined : 'Error: it failed',
    steps: 0,
  }
}
