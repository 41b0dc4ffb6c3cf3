import { expect, test } from 'vitest'
import { observers, type UnattendedFact } from '../../../src/observe/observer.ts'
import { pruneReceipts } from '../../../src/upkeep/prune-receipts.ts'
import { reportUnattended } from '../../../src/upkeep/report-unattended.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/*
 * Jobs of a subscriber that was renamed or removed: they are reported, and an operator moves or
 * discards them.
 */

const JOBS = `select s.name, j.state::text, count(*)::int from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
  group by 1, 2 order by 1, 2`
const PROCESSED_BY_NEW = `select count(*) from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
  where s.name = 'new' and j.state = 'processed'`
const AUDIT = 'select actor, action, why, subject, detail from hookonce.audit'

function looking(db: TestDatabase) {
  return (...args: string[]) => cli(['subscribers', ...args], { DATABASE_URL: db.url })
}

test('jobs that no worker runs are listed, counted and reported', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', () => undefined, { name: 'here' })
  await hooks.start()
  await seedJobs(db, 3, { subscriber: 'gone' })
  const { stdout } = await looking(db)()
  expect(stdout).toMatch(/^default +test +gone +\* +3 +- +- +no; registered \d{4}-/m)
  expect(stdout).toMatch(/^default +test +here +\* +0 +- +- +yes$/m)
  const metrics = await hooks.metrics()
  expect(metrics).toContain('hookonce_jobs_unattended{source="test",subscriber="gone"} 3')
  expect(metrics).toContain('hookonce_jobs_unattended{source="test",subscriber="here"} 0')

  const facts: UnattendedFact[] = []
  const observer = { ...observers([]), unattended: (fact: UnattendedFact) => void facts.push(fact) }
  const ledger = await hooks.ledger('test')
  // A worker that is being replaced by another is no reason to report anything.
  expect(await reportUnattended(ledger, observer)).toBe(0)
  expect(await reportUnattended(ledger, observer, Date.now() + 3_600_000)).toBe(1)
  expect(facts).toEqual([{ source: 'test', subscriber: 'gone', jobs: 3, since: expect.any(Date) }])
})

test('a subscriber whose worker has stopped is not served since then', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', () => undefined, { name: 'app' })
  await hooks.start()
  await hooks.stop()
  expect((await looking(db)()).stdout).toMatch(/ app +\* +0 +- +- +not since \d{4}-/)
  // Rows of dead workers are deleted after a day.
  await db.rows(
    `update hookonce.worker set dead_at = now() - interval '2 days', lease_until = now() - interval '2 days'`,
  )
  const next = testHooks(db, { leaseMs: 500 }).on('test', 'a', () => undefined, { name: 'other' })
  await next.start()
  await until('the row is gone', async () => {
    return (await db.number('select count(*) from hookonce.worker where dead_at is not null')) === 0
  })
  const kept = `select round(extract(epoch from now() - served_until) / 86400) from hookonce.subscriber where name = 'app'`
  expect(await db.number(kept)).toBe(2)
})

test('discarded jobs fail with the recorded reason, and their bodies are deleted at the end of their retention', async () => {
  const db = await freshDatabase()
  const look = looking(db)
  await seedJobs(db, 3, { subscriber: 'gone', ageDays: 40 })
  await db.rows(`update hookonce.job set state = 'retrying', fence = 1, attempt = 1
    where receipt_id = (select min(receipt_id::text)::uuid from hookonce.job)`)
  expect(await pruneReceipts({ pool: db.pool, shards: 16 })).toEqual({ bodies: 0, receipts: 0 })

  expect(await look('discard', 'test', 'gone', '--dry-run')).toMatchObject({
    code: 0,
    stdout: '3 jobs would be discarded\n',
  })
  const unexplained = await look('discard', 'test', 'gone')
  expect(unexplained).toMatchObject({ code: 1, stderr: expect.stringContaining('--why') })
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(0)

  expect(await look('discard', 'test', 'gone', '--why', 'no longer sold', '--by', 'ada')).toMatchObject({
    code: 0,
    stdout: '3 jobs of test gone discarded\n',
  })
  expect(await db.rows(JOBS)).toEqual([{ name: 'gone', state: 'failed', count: 3 }])
  expect(await db.rows('select distinct reason from hookonce.job')).toEqual([
    { reason: 'DISCARDED by cli:ada: no longer sold' },
  ])
  expect(await db.rows(AUDIT)).toEqual([
    {
      actor: 'cli:ada',
      action: 'discard-jobs',
      why: 'no longer sold',
      subject: 'test gone',
      detail: { jobs: 3 },
    },
  ])
  expect(await pruneReceipts({ pool: db.pool, shards: 16 })).toEqual({ bodies: 3, receipts: 0 })
})

test('moved jobs run for the other subscriber, which does not repeat recorded steps', async () => {
  const db = await freshDatabase()
  const steps: string[] = []
  const retry = { baseDelayMs: 3_600_000, maxDelayMs: 3_600_000 }
  const before = testHooks(db, { retry }).on(
    'test',
    '*',
    async (event, ctx) => {
      await ctx.step('charge', () => void steps.push(event.key))
      throw new Error('not yet')
    },
    { name: 'old' },
  )
  await before.start()
  await deliver(before, { id: 'begun', type: 'a' })
  await jobsAre(db, 'retrying')
  await before.pause('test', 'old')
  await deliver(before, { id: 'waiting', type: 'a' })
  await deliver(before, { id: 'unwanted', type: 'b' })
  await before.stop()

  const look = looking(db)
  const ran: string[] = []
  const after = testHooks(db).on(
    'test',
    'a',
    async (event, ctx) => {
      await ctx.step('charge', () => void steps.push(event.key))
      ran.push(event.key)
    },
    { name: 'new' },
  )
  await after.start()
  const move = ['move', 'test', 'old', '--to', 'new', '--by', 'ada', '--why', 'renamed']
  const plan = await look(...move, '--dry-run', '--json')
  expect(plan.json()).toMatchObject({
    to: 'new',
    jobs: 1,
    begun: 1,
    unwanted: [{ type: 'b', jobs: 1, begun: 0 }],
  })
  expect(plan.stderr).toContain('leaving 1 job of type b: "new" does not want the type')
  expect(plan.stderr).toContain('--begun')
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)

  expect(await look(...move)).toMatchObject({ code: 0, stdout: '1 job of test old moved to new\n' })
  await until('it ran', () => ran.includes('waiting'))
  expect(await look(...move, '--begun')).toMatchObject({
    code: 0,
    stdout: '1 job of test old moved to new\n',
  })
  await until('the other ran', () => ran.includes('begun'))

  await until('both are processed', async () => (await db.number(PROCESSED_BY_NEW)) === 2)
  expect(steps).toEqual(['begun', 'waiting'])
  expect(await db.rows(JOBS)).toEqual([
    { name: 'new', state: 'processed', count: 2 },
    // The jobs are not in `failed`: a replay of all failed jobs must not run them in addition to
    // the moved ones.
    { name: 'old', state: 'processed', count: 2 },
    { name: 'old', state: 'received', count: 1 },
  ])
  const events = await cli(['events'], { DATABASE_URL: db.url })
  expect(events.stdout).toMatch(/moved,processed|processed,moved/)
  expect(await db.rows(AUDIT)).toMatchObject([
    { action: 'move-jobs', detail: { jobs: 1, to: 'new', begun: false } },
    { action: 'move-jobs', detail: { jobs: 1, to: 'new', begun: true } },
  ])
})

test('a subscriber that a running worker serves, and unknown names, are refused', async () => {
  const db = await freshDatabase()
  const look = looking(db)
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'here' })
  await hooks.start()
  await seedJobs(db, 1, { subscriber: 'gone' })
  for (const [args, says] of [
    [['discard', 'test', 'here', '--why', 'x'], 'a running worker serves "here"'],
    [['discard', 'test', 'nobody', '--why', 'x'], 'source "test" has no subscriber "nobody"'],
    [['move', 'test', 'gone', '--to', 'nobody', '--why', 'x'], 'no subscriber "nobody"'],
    [['move', 'test', 'gone', '--to', 'gone', '--why', 'x'], 'cannot get its own jobs'],
    [['move', 'test', 'gone', '--why', 'x'], '--to'],
    [['discard', 'test'], 'give the source and the subscriber'],
    [['drop', 'test', 'gone'], 'unexpected argument "drop"'],
  ] as const) {
    const told = await look(...args)
    expect(told.code, args.join(' ')).toBe(1)
    expect(told.stderr, args.join(' ')).toContain(says)
  }
  expect(await db.rows(JOBS)).toEqual([{ name: 'gone', state: 'received', count: 1 }])
})
