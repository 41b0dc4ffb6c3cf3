import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { startApp } from '../../support/app.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

const JOB = 'select state::text, fence, attempt, crashes, worker, reason from hookonce.job'
const PROCESSED = `select count(*) from hookonce.job where state = 'processed'`

test('a process that stops finishes its work in flight, and retires its worker', async () => {
  const db = await freshDatabase()
  const app = await startApp(db)
  await app.send({ id: 'evt_1', type: 'slow.a', ms: 400 })
  await app.says('slow')
  app.kill('SIGTERM')

  expect(await app.exited()).toBe(0)
  expect(await db.rows(JOB)).toEqual([
    { state: 'processed', fence: 1, attempt: 1, crashes: 0, worker: null, reason: null },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(await db.rows('select dead_at is not null as dead from hookonce.worker')).toEqual([{ dead: true }])
})

test('a handler that does not end in time is handed back, and its attempt does not count', async () => {
  const db = await freshDatabase()
  const app = await startApp(db, { stop: { drainMs: 100 } })
  await app.send({ id: 'evt_1', type: 'hang.a' })
  await app.says('hanging')
  app.kill('SIGTERM')

  expect(await app.exited()).toBe(0)
  expect(await db.rows(JOB)).toEqual([
    { state: 'received', fence: 1, attempt: 0, crashes: 0, worker: null, reason: null },
  ])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
  expect(await db.rows('select dead_at is not null as dead from hookonce.worker')).toEqual([{ dead: true }])

  const attempts: number[] = []
  const next = testHooks(db)
  next.on('test', '*', (_event, ctx) => void attempts.push(ctx.attempt), { name: 'app' })
  await next.start()
  await until('the next process has processed it', () => db.number(PROCESSED))
  expect(attempts).toEqual([1])
  expect(await db.rows(JOB)).toMatchObject([{ state: 'processed', fence: 2, attempt: 1, crashes: 0 }])
})

test('a handler that honours its signal is handed back the same way', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', (_event, ctx) => {
    return new Promise((_, reject) =>
      ctx.signal.addEventListener('abort', () => reject(new Error('stopped early'))),
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await hooks.stop({ drainMs: 20 })
  expect(await db.rows(JOB)).toMatchObject([{ state: 'received', attempt: 0, crashes: 0 }])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
})

test('jobs that wait in the ledger when a process stops are left for the next one', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { concurrency: 1 })
  const started: string[] = []
  hooks.on('test', '*', async (event) => {
    started.push(event.key)
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  await hooks.start()
  await Promise.all([1, 2, 3, 4].map((n) => deliver(hooks, { id: `evt_${n}`, type: 'a' })))
  await hooks.stop()
  expect(await db.number(PROCESSED)).toBe(started.length)
  expect(await db.number(`select count(*) from hookonce.job where state = 'processing'`)).toBe(0)
  expect(await db.number(`select count(*) from hookonce.job where state = 'received'`)).toBe(
    4 - started.length,
  )
})

test('a delivery that is being accepted while its process stops is either run to its end or left to the next', async () => {
  const db = await freshDatabase()
  for (let round = 0; round < 10; round += 1) {
    const hooks = testHooks(db)
    hooks.on('test', '*', async (event) => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      await db.rows('insert into effect (receipt_id) values ($1)', [event.receiptId])
    })
    await hooks.start()
    const deliveries = Array.from({ length: 8 }, (_, n) =>
      deliver(hooks, { id: `evt_${round}_${n}`, type: 'a' }).catch(() => undefined),
    )
    const stopped = hooks.stop()
    await Promise.all([...deliveries, stopped])
    expect(await db.number(`select count(*) from hookonce.job where state = 'processing'`)).toBe(0)
    expect(await db.number('select count(*) from effect')).toBe(await db.number(PROCESSED))
  }
})

test('every event that was acknowledged under load takes effect once, although processes stop and start', async () => {
  const db = await freshDatabase()
  const acknowledged = new Set<string>()
  let sent = 0
  for (let round = 0; round < 2; round += 1) {
    const app = await startApp(db, { options: { pollMs: 20, concurrency: 8 } })
    let stopping = false
    const senders = Array.from({ length: 12 }, async () => {
      while (!stopping) {
        sent += 1
        const id = `evt_${sent}`
        const response = await app.send({ id, type: 'count.a' }).catch(() => undefined)
        if (response?.ok) acknowledged.add(id)
      }
    })
    await until('load', () => acknowledged.size > (round + 1) * 150)
    app.kill('SIGTERM')
    expect(await app.exited()).toBe(0)
    stopping = true
    await Promise.all(senders)
    expect(await db.number(`select count(*) from hookonce.job where state = 'processing'`)).toBe(0)
  }
  await startApp(db, { receives: false, options: { pollMs: 20 } })
  await until('all are processed', () =>
    db.number(`select (count(*) = 0)::int from hookonce.job where state <> 'processed'`),
  )

  const keys = await db.rows<{ key: string }>('select event_key as key from hookonce.receipt')
  const recorded = new Set(keys.map(({ key }) => key))
  expect([...acknowledged].filter((key) => !recorded.has(key))).toEqual([])
  expect(
    await db.rows(
      `select count(*)::int from hookonce.receipt r where 1 <> (select count(*) from effect e where e.receipt_id = r.id)`,
    ),
  ).toEqual([{ count: 0 }])
  expect(await db.rows('select max(attempt) as attempt, max(crashes) as crashes from hookonce.job')).toEqual([
    { attempt: 1, crashes: 0 },
  ])
})

test('a process stops although its ledger is unreachable', async () => {
  const db = await freshDatabase()
  const app = await startApp(db, { stop: { drainMs: 100 }, options: { leaseMs: 1_000 } })
  await app.send({ id: 'evt_1', type: 'hang.a' })
  await app.says('hanging')
  const name = new URL(db.url).pathname.slice(1)
  const admin = new pg.Client({ connectionString: inject('serverUrl') })
  await admin.connect()
  onTestFinished(() => admin.end())
  await admin.query(`alter database ${name} with allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  app.kill('SIGTERM')
  expect(await app.exited()).toBe(0)
})
