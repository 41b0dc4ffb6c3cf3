import { expect, test } from 'vitest'
import type { Queryable } from '../../../src/ledger/driver/statement.ts'
import { replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { settlement } from '../../support/seed.ts'
import { claim, claimOne, JOB, replayOf, rescueOf } from '../../support/seeded-claims.ts'

/** Starts work on a connection whose transaction stays open until the test commits it. */
async function inTransaction<T>(
  db: TestDatabase,
  work: (client: Queryable) => Promise<T>,
): Promise<{ result: T; commit: () => Promise<void> }> {
  const client = await db.pool.connect()
  await client.query('begin')
  const result = await work(client)
  return {
    result,
    async commit() {
      await client.query('commit')
      client.release()
    },
  }
}

test('a run that is settled after its job was rescued changes nothing', async () => {
  const db = await freshDatabase()
  const { job, worker } = await claimOne(db)
  expect(await rescueJobs(db.pool, rescueOf(worker))).toMatchObject([{ buried: false }])
  const rescued = await db.rows(JOB)

  for (const state of ['processed', 'retrying', 'failed', 'received'] as const) {
    expect(await settleJobs(db.pool, [settlement(job, state)])).toEqual([false])
  }

  expect(await db.rows(JOB)).toEqual(rescued)
  expect(rescued).toMatchObject([{ state: 'retrying', fence: 2, attempt: 1, crashes: 1, worker: null }])
  expect(await db.rows('select outcome, fence, number from hookonce.attempt')).toEqual([
    { outcome: 'crashed', fence: 1, number: 1 },
  ])
})

test('a rescue after the run was settled changes nothing', async () => {
  const db = await freshDatabase()
  const { job, worker } = await claimOne(db)
  expect(await settleJobs(db.pool, [settlement(job, 'processed')])).toEqual([true])

  expect(await rescueJobs(db.pool, rescueOf(worker))).toEqual([])

  expect(await db.rows(JOB)).toMatchObject([
    { state: 'processed', fence: 1, attempt: 1, crashes: 0, finished: true },
  ])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
})

test('a settlement that waits for a rescue in progress finds its lease lost', async () => {
  const db = await freshDatabase()
  const { job, worker } = await claimOne(db)
  const rescue = await inTransaction(db, (client) => rescueJobs(client, rescueOf(worker)))
  expect(rescue.result).toHaveLength(1)
  const settling = settleJobs(db.pool, [settlement(job, 'processed')])
  await waitingForALock(db)
  await rescue.commit()

  expect(await settling).toEqual([false])
  expect(await db.rows(JOB)).toMatchObject([{ state: 'retrying', fence: 2, crashes: 1, finished: false }])
})

test('a rescue skips a job that is being settled', async () => {
  const db = await freshDatabase()
  const { job, worker } = await claimOne(db)
  const settling = await inTransaction(db, (client) => settleJobs(client, [settlement(job, 'processed')]))
  expect(settling.result).toEqual([true])

  expect(await rescueJobs(db.pool, rescueOf(worker))).toEqual([])
  await settling.commit()
  expect(await rescueJobs(db.pool, rescueOf(worker))).toEqual([])

  expect(await db.rows(JOB)).toMatchObject([{ state: 'processed', fence: 1, crashes: 0 }])
})

test('a replay that waits for a settlement replays the settled job', async () => {
  const db = await freshDatabase()
  const { job, subscriber } = await claimOne(db)
  const settling = await inTransaction(db, (client) => settleJobs(client, [settlement(job, 'failed')]))
  // While it is being settled the job still reads as processing, so a replay skips it.
  const replay = { ...replayOf(job), subscribers: [subscriber] }
  expect(await replayJobs(db.pool, replay)).toBe(0)
  await settling.commit()
  expect(await replayJobs(db.pool, replay)).toBe(1)
  expect(await replayJobs(db.pool, replay)).toBe(0)

  expect(await db.rows(JOB)).toMatchObject([
    { state: 'received', fence: 1, attempt: 0, finished: false, reason: null },
  ])
})

test('a run that began before a replay cannot settle the job that was replayed', async () => {
  const db = await freshDatabase()
  const { job, worker, subscriber } = await claimOne(db)
  await settleJobs(db.pool, [settlement(job, 'failed')])
  await replayJobs(db.pool, replayOf(job))
  expect(await settleJobs(db.pool, [settlement(job, 'processed')])).toEqual([false])
  const [again] = await claim(db.pool, { worker, subscriber, slots: 1 })
  expect(again).toMatchObject({ fence: 2, attempt: 1 })
  expect(await settleJobs(db.pool, [settlement(job, 'processed')])).toEqual([false])

  expect(await db.rows(JOB)).toMatchObject([{ state: 'processing', fence: 2 }])
})

async function waitingForALock(db: TestDatabase): Promise<void> {
  for (;;) {
    const waiting = await db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (waiting > 0) return
  }
}
