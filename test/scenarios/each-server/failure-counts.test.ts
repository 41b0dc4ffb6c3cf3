import type { PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { abandonJob, letGo } from '../../../src/ledger/jobs/attention.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import type { JobRef } from '../../../src/ledger/jobs/job-ref.ts'
import { replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { settleJobs, stopForAttention } from '../../../src/ledger/jobs/settle.ts'
import { discardWaiting } from '../../../src/ledger/jobs/waiting-jobs.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import { countedGroups, newestGroups } from '../../../src/ledger/read/failures.ts'
import { backlog } from '../../../src/ledger/read/jobs.ts'
import { sweepKeys } from '../../../src/ledger/receipts/retention.ts'
import { addUpFailures, recountFailures } from '../../../src/ledger/stats/failure-counts.ts'
import { listFailures } from '../../../src/operate/failures.ts'
import { listSources } from '../../../src/operate/sources.ts'
import { readStatus } from '../../../src/operate/status.ts'
import { countFailures } from '../../../src/upkeep/count-failures.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { expectExactCounts } from '../../support/failure-oracle.ts'
import { ledgerOfVersion, MIGRATION_FILES, migrationsUpTo } from '../../support/old-schema.ts'
import { pagesTouched, textOf } from '../../support/plans.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'

/* The counts of failed jobs, which a trigger records and upkeep adds up. */

const SHARDS = 16

function ledgerOf({ pool }: TestDatabase): LedgerTables {
  return { pool, shards: SHARDS }
}

const ERRORS = [
  'permanent: Error: no customer cus_9f8e7d6c',
  'gave up after 8 attempts: Error: no customer cus_1a2b3c4d\n  at handler',
  'gave up after 2.5 hours: Error: answered 500',
  'Error: answered 404',
  '',
]

interface Workshop {
  readonly db: TestDatabase
  readonly subscribers: readonly number[]
  /** One action on some jobs. */
  readonly steps: Readonly<Record<string, (pick: (below: number) => number) => Promise<unknown>>>
}

/** Claims some jobs of a subscriber, as a new worker. */
async function claim(db: TestDatabase, subscriber: number, most: number) {
  const worker = await seedWorker(db)
  const jobs: JobRef[] = []
  for (let shard = 0; shard < SHARDS && jobs.length < most; shard += 1)
    jobs.push(...(await claimJobs(db.pool, { shard, worker, slots: new Map([[subscriber, 2]]) })))
  return { worker, jobs }
}

const FAILED = `select shard, receipt_id as "receiptId", subscriber from hookonce.job where state = $1
  order by receipt_id limit $2`

async function workshop(): Promise<Workshop> {
  const db = await freshDatabase()
  const subscribers = [
    await seedJobs(db, 60, { subscriber: 'mail' }),
    await seedJobs(db, 60, { subscriber: 'books' }),
  ]
  const one = (pick: (below: number) => number): number => subscribers[pick(2)] ?? 0
  const steps: Workshop['steps'] = {
    async fail(pick) {
      const { jobs } = await claim(db, one(pick), 4)
      const failed = jobs.map((job) => ({
        ...settlement(job, 'failed'),
        reason: ERRORS[pick(ERRORS.length)],
      }))
      await settleJobs(db.pool, failed)
      // Moves some failures to another hour.
      const hours = pick(3)
      await db.rows(
        `update hookonce.job set finished_at = finished_at - $2::integer * interval '1 hour'
         where state = 'failed' and receipt_id = any($1)`,
        [jobs.map(({ receiptId }) => receiptId), hours],
      )
    },
    async succeed(pick) {
      const { jobs } = await claim(db, one(pick), 2)
      await settleJobs(
        db.pool,
        jobs.map((job) => settlement(job, 'processed')),
      )
    },
    async replay(pick) {
      const found = await db.rows<JobRef>(FAILED, ['failed', 1 + pick(5)])
      for (const { shard, receiptId, subscriber } of found)
        await replayJobs(db.pool, {
          shard,
          receiptIds: [receiptId],
          subscribers: [subscriber],
          states: ['failed'],
        })
    },
    async discard(pick) {
      const shard = pick(SHARDS)
      await discardWaiting(db.pool, { shard, subscriber: one(pick), limit: 3, reason: 'discarded by ada' })
    },
    async attention(pick) {
      const { jobs } = await claim(db, one(pick), 2)
      const effect = { shard: 0, id: '00000000-0000-4000-8000-000000000009', tenant: 'default', key: 'mail' }
      for (const job of jobs) await stopForAttention(db.pool, { job, effect, reason: 'no reply' })
    },
    async decide(pick) {
      const found = await db.rows<JobRef>(FAILED, ['attention', 2])
      for (const job of found) {
        if (pick(2) === 0) await letGo(db.pool, job)
        else await abandonJob(db.pool, job, 'abandoned: nobody knows')
      }
    },
    async bury(pick) {
      const { worker, jobs } = await claim(db, one(pick), 2)
      await db.rows('update hookonce.job set crashes = 4 where worker = $1', [worker])
      for (const shard of new Set(jobs.map((job) => job.shard)))
        await rescueJobs(db.pool, { shard, deadWorkers: [worker], limit: 10, isCrash: true })
    },
    async prune(pick) {
      await db.rows(
        `update hookonce.receipt set received_at = now() - interval '1 year' where id in (
           select receipt_id from hookonce.job where state = 'failed' order by receipt_id limit $1)`,
        [pick(3)],
      )
      for (let shard = 0; shard < SHARDS; shard += 1) await sweepKeys(db.pool, shard, 10)
    },
    addUp: (pick) => addUpFailures(db.pool, 1 + pick(7)),
    recount: (pick) => recountFailures(db.pool, SHARDS, one(pick)),
  }
  return { db, subscribers, steps }
}

/** Random numbers from a seed. */
function picker(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('counts are exact after any actions on jobs, added up or not', async () => {
  const seed = Number(process.env.HOOKONCE_SEED ?? Date.now() % 1_000_000)
  const pick = picker(seed)
  const { db, steps } = await workshop()
  const names = Object.keys(steps)
  const done: string[] = []
  for (let round = 0; round < 60; round += 1) {
    const name = round < names.length ? (names[round] ?? '') : (names[pick(names.length)] ?? '')
    await steps[name]?.(pick)
    done.push(name)
    if (round % 3 === 0) await expectExactCounts(db, `HOOKONCE_SEED=${seed}: ${done.join(' ')}`)
  }
  while ((await addUpFailures(db.pool, 50)) > 0);
  expect(await db.number('select count(*) from hookonce.failure_change')).toBe(0)
  await expectExactCounts(db, `HOOKONCE_SEED=${seed}: at the end`)
  // Rows with a count of zero are deleted.
  const empty = `select (select count(*) from hookonce.failure_group where jobs <= 0)
    + (select count(*) from hookonce.failure_hour where jobs <= 0)`
  expect(await db.number(empty)).toBe(0)
})

test('counts are exact after processes failed, replayed, added up and counted at the same time', async () => {
  const { db, subscribers, steps } = await workshop()
  const run = async (names: readonly string[], seed: number): Promise<void> => {
    const pick = picker(seed)
    for (let round = 0; round < 12; round += 1) await steps[names[round % names.length] ?? '']?.(pick)
  }
  await Promise.all([
    run(['fail', 'replay'], 1),
    run(['fail', 'discard', 'replay'], 2),
    run(['attention', 'decide', 'fail'], 3),
    run(['addUp'], 4),
    run(['addUp', 'recount'], 5),
    run(['recount'], 6),
  ])
  await expectExactCounts(db, 'before the rest is added up')
  while ((await addUpFailures(db.pool, 50)) > 0);
  await expectExactCounts(db, 'after it')
  for (const subscriber of subscribers) await recountFailures(db.pool, SHARDS, subscriber)
  await expectExactCounts(db, 'counted one by one')
})

async function openTransaction(db: TestDatabase): Promise<PoolClient> {
  const client = await db.pool.connect()
  onTestFinished(() => client.release())
  await client.query('begin')
  return client
}

const LEAVE = `update hookonce.job set state = 'received', finished_at = null, reason = null
  where (shard, receipt_id) = (select shard, receipt_id from hookonce.job where state = 'failed' limit 1)`
const ENTER = `update hookonce.job set state = 'failed', finished_at = now(), reason = 'late'
  where (shard, receipt_id) = (select shard, receipt_id from hookonce.job where state = 'processed' limit 1)`

test('a count neither misses nor repeats concurrent commits', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5, { state: 'failed' })
  await seedJobs(db, 5, { state: 'processed' })
  const replay = await openTransaction(db)
  await replay.query(LEAVE)
  const failure = await openTransaction(db)
  await failure.query(ENTER)
  expect(await recountFailures(db.pool, SHARDS, subscriber)).toBe(true)
  await expectExactCounts(db, 'they are not committed')
  await replay.query('commit')
  await expectExactCounts(db, 'one is')
  await failure.query('commit')
  await expectExactCounts(db, 'both are')
  await addUpFailures(db.pool, 100)
  await expectExactCounts(db, 'they are added up')
})

test('a process does nothing, and does not wait, while another one adds up', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5, { state: 'failed' })
  const other = await openTransaction(db)
  // Like the statement `lock_failure_counts`.
  await other.query(
    `select pg_advisory_xact_lock(1717660012, 'hookonce.failure_total'::regclass::oid::integer)`,
  )
  expect(await addUpFailures(db.pool, 100)).toBe(0)
  expect(await recountFailures(db.pool, SHARDS, subscriber)).toBe(false)
  await other.query('rollback')
  expect(await addUpFailures(db.pool, 100)).toBe(5)
})

test('failures from before the migration are counted, also those that change while it runs', async () => {
  const before = MIGRATION_FILES.findIndex((file) => file.includes('failure-counts'))
  const db = await ledgerOfVersion(before)
  await seedJobs(db, 6, { state: 'failed', subscriber: 'mail' })
  await seedJobs(db, 4, { state: 'processed', subscriber: 'mail' })
  await db.rows(`update hookonce.job set reason = 'permanent: Error: answered 500' where state = 'failed'`)
  await migrate(db.pool, { folder: migrationsUpTo(before + 1) })
  // The triggers exist, but the count does not: a replay and a failure happen in between, and two
  // failures stay.
  await db.rows(LEAVE)
  await db.rows(ENTER)
  const replay = await openTransaction(db)
  await replay.query(LEAVE)
  const failure = await openTransaction(db)
  await failure.query(ENTER)
  await migrate(db.pool)
  await expectExactCounts(db, 'two changes are not committed')
  await replay.query('commit')
  await failure.query('commit')
  await expectExactCounts(db, 'all is committed')
  expect((await readStatus(ledgerOf(db))).totals.failed).toBe(6)
})

test('changes without the trigger are corrected by the next recount', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5, { state: 'failed' })
  expect(await countFailures(ledgerOf(db))).toEqual({ changes: 5, recounted: 1 })
  await db.rows('alter table hookonce.job disable trigger user')
  await db.rows(`delete from hookonce.job where ctid = (select ctid from hookonce.job limit 1)`)
  await db.rows(
    `update hookonce.job set reason = 'another' where ctid = (select max(ctid) from hookonce.job)`,
  )
  await db.rows('alter table hookonce.job enable trigger user')
  expect(await countFailures(ledgerOf(db))).toEqual({ changes: 0, recounted: 0 })
  expect((await readStatus(ledgerOf(db))).totals.failed).toBe(5)
  await db.rows(`update hookonce.failure_total set recounted_at = now() - interval '25 hours'`)
  expect(await countFailures(ledgerOf(db))).toEqual({ changes: 0, recounted: 1 })
  await expectExactCounts(db, 'counted anew')
})

test('a new error is listed at once, however many larger groups there are', async () => {
  const db = await freshDatabase()
  // Some 350 errors, most of them twice.
  await seedJobs(db, 700, { state: 'failed' })
  const words = `translate(lpad((row_number() over () / 2)::text, 4, '0'), '0123456789', 'abcdefghij')`
  await db.rows(
    `update hookonce.job j set reason = 'Error: ' || n.word, finished_at = now() - interval '2 hours'
     from (select ctid as at, ${words} as word from hookonce.job) n where j.ctid = n.at`,
  )
  await seedJobs(db, 700, { state: 'failed', source: 'other' })
  await db.rows(
    `update hookonce.job j set reason = 'Error: other', finished_at = now() - interval '1 hour' where reason is null`,
  )
  while ((await addUpFailures(db.pool, 5_000)) > 0);
  await seedJobs(db, 1, { state: 'failed' })
  await db.rows(`update hookonce.job set reason = 'Error: quite new' where reason is null`)
  for (const when of ['noted', 'added up']) {
    const { groups, isComplete } = await listFailures(ledgerOf(db))
    expect(isComplete, when).toBe(false)
    expect(groups.length, when).toBeLessThanOrEqual(300)
    expect(groups[0], when).toMatchObject({ source: 'other', error: 'Error: other', jobs: 700 })
    expect(
      groups.filter(({ error }) => error === 'Error: quite new'),
      when,
    ).toMatchObject([{ jobs: 1, receiptIds: [expect.any(String)] }])
    await addUpFailures(db.pool, 5_000)
  }
  expect((await listFailures(ledgerOf(db), { source: 'other' })).isComplete).toBe(true)
})

test('with a filter on times, a busy subscriber does not hide the failures of another', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 6_000, { state: 'failed', subscriber: 'loud' })
  await seedJobs(db, 1, { state: 'failed', subscriber: 'quiet' })
  await db.rows(
    `update hookonce.job set finished_at = now() - interval '1 hour' where subscriber = (
       select id from hookonce.subscriber where name = 'quiet')`,
  )
  const { groups, isComplete } = await listFailures(ledgerOf(db), { since: new Date(Date.now() - 7_200_000) })
  expect(isComplete).toBe(false)
  expect(groups.map(({ subscriber }) => subscriber)).toEqual(['loud', 'quiet'])
  expect(groups[0]?.jobs).toBeLessThanOrEqual(2_500)
  const none = await listFailures(ledgerOf(db), { type: 'never.sent' })
  expect(none).toEqual({ groups: [], isComplete: false })
})

test('a group names receipts that are failed now with its error, and when the error was seen', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5, { state: 'failed' })
  await db.rows(
    `update hookonce.job j set reason = 'Error: old', finished_at = now() - n.hours * interval '1 hour'
     from (select ctid as at, row_number() over () as hours from hookonce.job) n where j.ctid = n.at`,
  )
  await addUpFailures(db.pool, 100)
  const [before] = (await listFailures(ledgerOf(db))).groups
  const [latest = '', second = ''] = before?.receiptIds ?? []
  // One job now fails with another error, and one job is replayed.
  await db.rows(`update hookonce.job set reason = 'Error: new' where receipt_id = $1`, [latest])
  await db.rows(`update hookonce.job set state = 'received' where receipt_id = $1`, [second])
  for (const when of ['noted', 'added up']) {
    const { groups } = await listFailures(ledgerOf(db))
    const [old, fresh] = groups
    expect(old, when).toMatchObject({
      error: 'Error: old',
      jobs: 3,
      firstAt: before?.firstAt,
      lastAt: before?.lastAt,
    })
    expect(old?.receiptIds, when).toHaveLength(3)
    expect(old?.receiptIds, when).not.toContain(latest)
    expect(old?.receiptIds, when).not.toContain(second)
    expect(fresh, when).toMatchObject({ error: 'Error: new', jobs: 1, receiptIds: [latest] })
    await addUpFailures(db.pool, 100)
  }
})

test('sources and failures of one tenant include no count of another', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 3, { state: 'failed' })
  const acme = await seedJobs(db, 2, { state: 'failed', source: 'acme-source' })
  await db.rows(`update hookonce.source set tenant = 'acme' where name = 'acme-source'`)
  await db.rows(`update hookonce.subscriber set tenant = 'acme' where id = $1`, [acme])
  for (const when of ['noted', 'added up']) {
    const { groups } = await listFailures(ledgerOf(db), { tenant: 'acme' })
    expect(groups, when).toMatchObject([{ tenant: 'acme', jobs: 2 }])
    const sources = await listSources(ledgerOf(db), { tenant: 'acme' })
    expect(sources, when).toMatchObject([{ tenant: 'acme', failed: 2, health: 'failing' }])
    await addUpFailures(db.pool, 100)
  }
})

test('the cost of failures and status does not grow with the number of failed jobs', async () => {
  const question = { shards: SHARDS, examples: 3, hours: 24 }
  const asked = {
    failures: {
      text: await textOf((db) => countedGroups(db, { ...question, largest: 250, latest: 50 })),
      values: '(16, null, null, null, 250, 50, 3, 24)',
    },
    'failures of a week': {
      text: await textOf((db) => newestGroups(db, { ...question, walk: 10 })),
      values: `(16, null, null, null, null, now() - interval '7 days', 'infinity', 10, 3, 24)`,
    },
    status: { text: await textOf((db) => backlog(db, SHARDS)), values: '(16)' },
  }
  const pages = new Map<string, number[]>()
  for (const count of [800, 8_000]) {
    const db = await freshDatabase()
    // The planner underestimates failures: it does not know that the index contains only failures.
    await seedJobs(db, 20_000, { state: 'processed' })
    await seedJobs(db, count, { state: 'failed' })
    await db.rows(
      `update hookonce.job set finished_at = finished_at - random() * interval '5 days' where state = 'failed'`,
    )
    while ((await addUpFailures(db.pool, 5_000)) > 0);
    await db.rows('vacuum analyze')
    for (const [name, { text, values }] of Object.entries(asked)) {
      const touched = await pagesTouched(db, text, values)
      expect(touched.readThrough, name).toEqual([])
      pages.set(name, [...(pages.get(name) ?? []), touched.pages])
    }
  }
  for (const [name, [few = 0, many = 0]] of pages)
    expect(many, `${name}: ${few} pages with 800 failed jobs, ${many} with 8,000`).toBeLessThan(few + 200)
})

test('a role that may change jobs needs no rights on the counts to fail them', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'processed' })
  const role = `clerk_${process.pid}_${Date.now()}`
  await db.rows(`create role ${role}`)
  onTestFinished(async () => {
    await db.rows(`drop owned by ${role}`)
    await db.rows(`drop role ${role}`)
  })
  await db.rows(`grant usage on schema hookonce to ${role}`)
  await db.rows(`grant select, update on hookonce.job to ${role}`)
  const client = await openTransaction(db)
  await client.query(`set local role ${role}`)
  await client.query(ENTER)
  await client.query('commit')
  await expectExactCounts(db, 'failed by another role')
})

test('jobs of a worker whose lease is over are counted as stranded until they are rescued', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 6)
  const { worker, jobs } = await claim(db, subscriber, 3)
  const alive = await claim(db, subscriber, 2)
  const totals = async () => (await readStatus(ledgerOf(db))).totals
  const running = jobs.length + alive.jobs.length
  const waiting = 6 - running
  expect(await totals()).toMatchObject({ waiting, processing: running, stranded: 0 })
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 second' where id = $1`, [
    worker,
  ])
  const split = { waiting, processing: alive.jobs.length, stranded: jobs.length }
  expect(await totals()).toMatchObject(split)
  await db.rows('update hookonce.worker set dead_at = now() where id = $1', [worker])
  expect(await totals()).toMatchObject(split)
  for (let shard = 0; shard < SHARDS; shard += 1)
    await rescueJobs(db.pool, { shard, deadWorkers: [worker], limit: 10, isCrash: true })
  expect(await totals()).toMatchObject({ waiting, retrying: jobs.length, stranded: 0 })
})
