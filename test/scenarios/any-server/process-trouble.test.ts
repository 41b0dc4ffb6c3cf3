import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { type App, startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import type { TestPayload } from '../../support/source.ts'
import { lockTable } from '../../support/table-lock.ts'
import { until } from '../../support/until.ts'

const PROCESSED = `select count(*) from hookonce.job where state = 'processed'`

/** Sends like a provider: until the event is acknowledged. */
async function sendUntilTaken(app: App, payload: TestPayload): Promise<void> {
  await until(`${payload.id} is acknowledged`, async () => {
    const answer = await app.send(payload).catch(() => undefined)
    // The body is read to its end, so that the connection is reused.
    await answer?.arrayBuffer()
    return answer?.ok
  })
}

test('connections that are cut again and again cost time, but no event and no effect', async () => {
  const db = await freshDatabase()
  const app = await startApp(db, {
    options: { leaseMs: 6_000, pollMs: 20, retry: { baseDelayMs: 10, maxDelayMs: 100 } },
  })
  let sent = false
  const sending = (async () => {
    for (let n = 0; n < 60; n += 3) {
      const batch = [n, n + 1, n + 2].map((i) =>
        // Writes that commit with the completion: on a busy machine the cuts may cost a lease.
        sendUntilTaken(app, { id: `evt_${i}`, type: i % 2 ? 'write.a' : 'writeslow.a', ms: 50 }),
      )
      await Promise.all(batch)
    }
    sent = true
  })()
  // Only the connections of hookonce: the handlers' own pool is not its concern.
  let cut = 0
  for (let round = 0; round < 12 || !sent; round += 1) {
    cut += await db.number(`select count(*) filter (where ended) from (
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and application_name = 'hookonce') cut`)
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
  await sending
  expect(cut).toBeGreaterThan(10)
  // A claim whose reply was lost is detected after at most half a minute.
  await until('all are processed', async () => (await db.number(PROCESSED)) === 60, 60_000)

  expect(app.process.exitCode).toBeNull()
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(60)
  expect(
    await db.rows('select count(*)::int, count(distinct receipt_id)::int as events from effect'),
  ).toEqual([{ count: 60, events: 60 }])
}, 120_000)

test('a lease that its worker does not know, because the reply was lost, is handed back and run', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { leaseMs: 600 })
  const attempts: number[] = []
  hooks.on('test', '*', (_event, ctx) => void attempts.push(ctx.attempt))
  await hooks.start()
  await hooks.pause('test')
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await db.rows(`update hookonce.job set state = 'processing', worker = (select id from hookonce.worker), attempt = attempt + 1,
    fence = fence + 1, started_at = now() - interval '1 hour'`)
  await hooks.resume('test')
  await until('the job is processed', () => db.number(PROCESSED))

  expect(attempts).toEqual([1])
  expect(await db.rows('select fence, attempt, crashes from hookonce.job')).toEqual([
    { fence: 2, attempt: 1, crashes: 0 },
  ])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
})

test('a long-running handler is not mistaken for a lost lease', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { leaseMs: 500 })
  let runs = 0
  let finish = (): void => undefined
  hooks.on('test', '*', () => {
    runs += 1
    return new Promise<void>((resolve) => (finish = resolve))
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await db.rows(`update hookonce.job set started_at = now() - interval '1 hour'`)
  const before = await db.number('select extract(epoch from lease_until) from hookonce.worker')
  await until('several heartbeats passed', async () => {
    return (await db.number('select extract(epoch from lease_until) from hookonce.worker')) > before + 0.5
  })
  expect(await db.rows('select state::text, fence from hookonce.job')).toEqual([
    { state: 'processing', fence: 1 },
  ])
  finish()
  await until('the job is processed', () => db.number(PROCESSED))
  expect(runs).toBe(1)
})

test('clocks that are five minutes off in both directions change nothing', async () => {
  const db = await freshDatabase()
  const preload = fileURLToPath(new URL('../../support/skewed-clock.mjs', import.meta.url))
  const skewed = (minutes: number, more: { receives?: boolean } = {}): Promise<App> =>
    startApp(db, {
      ...more,
      options: { leaseMs: 3_000, pollMs: 20, concurrency: 4, retry: { baseDelayMs: 10, maxDelayMs: 20 } },
      env: { NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(minutes * 60_000) },
    })
  const ahead = await skewed(5)
  const behind = await skewed(-5, { receives: false })
  const enlisted = await db.rows(
    `select pid from hookonce.worker where lease_until between now() and now() + interval '3 seconds'`,
  )
  expect(enlisted).toHaveLength(2)
  await Promise.all(
    Array.from({ length: 24 }, (_, n) => ahead.send({ id: `evt_${n}`, type: 'slow.a', ms: 300 })),
  )
  await until('all are processed', async () => (await db.number(PROCESSED)) === 24)

  expect(await db.number('select count(distinct pid) from run')).toBe(2)
  expect(
    await db.rows('select count(*)::int as runs, count(distinct receipt_id)::int as events from run'),
  ).toEqual([{ runs: 24, events: 24 }])
  expect(await db.rows('select max(crashes) as crashes, max(fence) as fence from hookonce.job')).toEqual([
    { crashes: 0, fence: 1 },
  ])
  expect(await db.number('select count(*) from hookonce.worker where dead_at is not null')).toBe(0)
  expect(
    await db.number(`select count(*) from hookonce.receipt r join hookonce.job j on j.receipt_id = r.id
      where received_at not between now() - interval '1 minute' and now() or finished_at not between received_at and now()`),
  ).toBe(0)

  behind.kill('SIGKILL')
  await ahead.send({ id: 'evt_last', type: 'count.a' })
  await until('life goes on', async () => (await db.number(PROCESSED)) === 25)
})

test('handlers that take every connection of a pool starve its heartbeats, and nothing is lost', async () => {
  const db = await freshDatabase()
  const pool = quietPool(new pg.Pool({ connectionString: db.url, max: 2 }))
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const hooks = testHooks(db, { database: pool, leaseMs: 500, retry: { baseDelayMs: 10, maxDelayMs: 50 } })
  const heldFor: Record<string, number> = { short: 20, long: 1_200 }
  hooks.on('test', '*', async (event, ctx) => {
    const client = await pool.connect()
    // The first run of a long event exceeds the lease. Its retry is quick.
    await new Promise((resolve) => setTimeout(resolve, ctx.attempt === 1 ? heldFor[event.type] : 5))
    client.release()
  })
  await hooks.start()
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: n < 4 ? 'long' : 'short' })),
  )
  await until('all are processed', async () => (await db.number(PROCESSED)) === 20)
  await hooks.stop()

  expect(await db.number('select count(*) from hookonce.receipt')).toBe(20)
  expect(await db.number(`select count(*) from hookonce.job where state <> 'processed'`)).toBe(0)
})

test('two thousand events that one process accepted are run by two others, each once', async () => {
  const db = await freshDatabase()
  const receiver = await startApp(db, { works: false })
  let next = 0
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      while (next < 2_000) {
        next += 1
        await sendUntilTaken(receiver, { id: `evt_${next}`, type: 'count.a' })
      }
    }),
  )
  expect(await db.number(`select count(*) from hookonce.job where state = 'received'`)).toBe(next)
  const workers = { receives: false, options: { pollMs: 20 } }
  // No run ends before both processes have begun some: otherwise the first could do all the work.
  const lock = await lockTable(db, 'run')
  await Promise.all([startApp(db, workers), startApp(db, workers)])
  await until('both are at work', async () => {
    const busy = `select count(distinct worker) from hookonce.job where state = 'processing'`
    return (await db.number(busy)) === 2
  })
  await lock.release()
  await until('all are processed', async () => (await db.number(PROCESSED)) === next)

  expect(await counts(db, 'run')).toEqual([{ count: next, events: next }])
  expect(await counts(db, 'effect')).toEqual([{ count: next, events: next }])
  expect(await db.number('select count(distinct pid) from run')).toBe(2)
  expect(await db.rows('select distinct fence, attempt, crashes from hookonce.job')).toEqual([
    { fence: 1, attempt: 1, crashes: 0 },
  ])
})

function counts(db: TestDatabase, table: 'run' | 'effect'): Promise<unknown[]> {
  return db.rows(`select count(*)::int, count(distinct receipt_id)::int as events from ${table}`)
}
