import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { JobRef } from '../../../src/ledger/jobs/job-ref.ts'
import { openVault } from '../../../src/ledger/vault/vault.ts'
import type { Event } from '../../../src/model/event.ts'
import { observers } from '../../../src/observe/observer.ts'
import type { Handler } from '../../../src/process/subscriber.ts'
import { startWorker, type Worker } from '../../../src/process/worker.ts'
import { isolation } from '../../../src/work/isolation.ts'
import { TimeLimit } from '../../../src/work/within.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'
import { testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/* The moments between two steps of a worker, prolonged by a pool with a delay. */

const deaf = observers([])

const JOB = 'select state::text, fence, attempt, crashes from hookonce.job'

interface Hold {
  /** The statement whose reply is held back, once. */
  readonly statement: string
  readonly until: () => Promise<void>
}

function holding(db: TestDatabase, hold: Hold): Pool {
  let held = false
  return new Proxy(db.pool, {
    get(pool, property) {
      if (property !== 'query') return Reflect.get(pool, property)
      return async (query: { name?: string; text: string; values: unknown[] }) => {
        const result = await pool.query(query)
        if (query.name === `hookonce_${hold.statement}` && result.rows.length > 0 && !held) {
          held = true
          await hold.until()
        }
        return result
      }
    },
  })
}

async function workerOn(
  pool: Pool,
  { subscriber, handler, leaseMs = 30_000 }: { subscriber: number; handler: Handler; leaseMs?: number },
): Promise<Worker> {
  const worker = await startWorker({
    listen: undefined,
    pool,
    vault: openVault(pool, []),
    writes: pool,
    business: pool,
    outbox: { requirePublisher: () => undefined, committed: () => undefined },
    shards: 16,
    subscribers: [
      {
        id: subscriber,
        tenant: 'default',
        sourceName: 'test',
        source: testSource(),
        name: 'app',
        handler,
        slotGroup: { concurrency: 4 },
        limiter: undefined,
        timeoutMs: 300_000,
        retry: { maxAttempts: 5, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 1 },
      },
    ],
    concurrency: 4,
    leaseMs,
    pollMs: 20,
    isolation: isolation(10_000),
    observer: deaf,
  })
  onTestFinished(() => worker.stop(new TimeLimit(0)))
  return worker
}

test('a job whose lease changed hands while the claim was in transit is not run under it', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1)
  let worker: Worker | undefined
  let first: number | undefined
  const pool = holding(db, {
    statement: 'claim',
    async until() {
      await until('the worker has started', () => worker)
      first = worker?.id
      await db.rows('update hookonce.worker set dead_at = now()')
      await until('it is enlisted anew', () => worker?.id !== undefined && worker.id !== first)
    },
  })
  const runs: number[] = []
  worker = await workerOn(pool, {
    subscriber,
    handler: (_event, ctx) => void runs.push(ctx.attempt),
    leaseMs: 500,
  })
  await until('the job is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )

  expect(runs).toEqual([1])
  expect(await db.rows(JOB)).toEqual([{ state: 'processed', fence: 2, attempt: 1, crashes: 0 }])
})

test('a claim that returns when the process is already stopping is handed back', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1)
  let release = (): void => undefined
  let claimed = false
  const pool = holding(db, {
    statement: 'claim',
    until() {
      claimed = true
      return new Promise((resolve) => (release = resolve))
    },
  })
  let ran = false
  const worker = await workerOn(pool, {
    subscriber,
    handler: () => {
      ran = true
    },
  })
  await until('the claim is on its way', () => claimed)
  const stopped = worker.stop(new TimeLimit(10_000))
  release()
  await stopped

  expect(ran).toBe(false)
  expect(await db.rows(JOB)).toEqual([{ state: 'received', fence: 1, attempt: 0, crashes: 0 }])
  expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(0)
})

test('a stop waits for the delivery that has a slot reserved, and hands its job back', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1)
  await db.rows(`update hookonce.job set due_at = now() + interval '1 hour'`)
  let ran = false
  const worker = await workerOn(db.pool, {
    subscriber,
    handler: () => {
      ran = true
    },
  })
  const id = worker.id ?? 0
  expect(worker.reserve(subscriber)).toBe(true)
  const stopped = worker.stop(new TimeLimit(10_000))
  expect(worker.reserve(subscriber)).toBe(false)
  await delay(100)
  expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(1)

  // The accept commits a job that is born leased, and passes it to the worker.
  const [job] = await db.rows<JobRef>(
    `update hookonce.job set state = 'processing', worker = $1, fence = 1, attempt = 1, started_at = now()
     returning shard, receipt_id as "receiptId", subscriber, fence`,
    [id],
  )
  if (!job) throw new Error('the job was not leased')
  worker.runBornLeased(job, id, () => ({}) as Event)
  await stopped

  expect(ran).toBe(false)
  expect(await db.rows(JOB)).toEqual([{ state: 'received', fence: 1, attempt: 0, crashes: 0 }])
  expect(await db.number('select count(*) from hookonce.worker where dead_at is null')).toBe(0)
})

test('a run that lost its lease and ends late is not mistaken for the run that followed it', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1)
  let settled = (): void => undefined
  // The settlement of the first run is refused, and its reply comes late.
  const pool = slowSettle(db, () => new Promise((resolve) => (settled = resolve)))
  const signals: AbortSignal[] = []
  await workerOn(pool, {
    subscriber,
    leaseMs: 500,
    handler: (_event, ctx) => {
      signals.push(ctx.signal)
      return new Promise(() => undefined)
    },
  })
  await until('the first run began', () => signals.length === 1)
  await db.rows(`update hookonce.worker set dead_at = now()`)
  await until('the first run was aborted', () => signals[0]?.aborted)
  await db.rows(
    `update hookonce.job set state = 'retrying', worker = null, fence = fence + 1, due_at = now()`,
  )
  await until('the second run began', () => signals.length === 2)
  settled()
  await delay(50)
  // A lost lease aborts exactly the work in flight.
  await db.rows(`update hookonce.worker set dead_at = now()`)
  await until('the second run was aborted too', () => signals[1]?.aborted)
})

function slowSettle(db: TestDatabase, wait: () => Promise<void>): Pool {
  let first = true
  return new Proxy(db.pool, {
    get(pool, property) {
      if (property !== 'query') return Reflect.get(pool, property)
      return async (query: { name?: string; text: string; values: unknown[] }) => {
        if (query.name !== 'hookonce_settle' || !first) return pool.query(query)
        first = false
        await wait()
        return pool.query(query)
      }
    },
  })
}
