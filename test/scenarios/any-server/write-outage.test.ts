import { describe, expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { meeting } from '../../support/meeting-point.ts'
import { until } from '../../support/until.ts'

/*
 * One statement can fail as if the ledger were down. It must fail its own job, and no other.
 * test/scenarios/own-server/write-outage.test.ts has the real causes that need their own server.
 */
const HEALTHY = 20
const raised = (code: string): string => `raise exception 'as if' using errcode = '${code}';`

describe('a write that fails as if the ledger were down fails alone:', () => {
  test.each([
    ['a connection to elsewhere', raised('08001')],
    ['a full disk', raised('53100')],
    ['too little memory', raised('53200')],
    ['too many connections', raised('53300')],
    ['an input error of the machine', raised('58030')],
    ['an intervention', raised('57000')],
    ['a server that is said to shut down', raised('57P01')],
    ['a server that is said to have crashed', raised('57P02')],
    ['a server that is said to start', raised('57P03')],
    ['the end of its own connection', 'perform pg_terminate_backend(pg_backend_pid());'],
    // The commit is in progress, so the failed statement is unknown.
    ['the end of its own connection, at the commit', ''],
  ])('%s', async (_, failure) => {
    const db = await freshDatabase()
    await db.rows(`
      create table late (key text);
      create function fail() returns void language plpgsql as $$ begin ${failure} end $$;
      create function fail_late() returns trigger language plpgsql as $$ begin
        perform pg_terminate_backend(pg_backend_pid());
        return null;
      end $$;
      create constraint trigger fail after insert on late deferrable initially deferred
        for each row execute function fail_late();`)
    const meet = meeting(HEALTHY + 1)
    const hooks = testHooks(db, {
      concurrency: HEALTHY + 1,
      retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 },
    }).on('test', '*', async (event, ctx) => {
      await meet()
      if (event.type === 'healthy') ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
      else if (failure) ctx.write({ text: 'select fail()' })
      else ctx.write({ text: 'insert into late values ($1)', values: [event.key] })
    })
    await hooks.start()
    const ids = Array.from({ length: HEALTHY }, (_, n) => `evt_${n}`)
    await deliver(hooks, { id: 'culprit', type: 'culprit' })
    await Promise.all(ids.map((id) => deliver(hooks, { id, type: 'healthy' })))
    await jobsAre(db, 'processed', HEALTHY)
    await jobsAre(db, 'failed')
    expect(await db.number('select count(*) from effect')).toBe(HEALTHY)
    expect(
      await db.rows(`select r.event_type as type, j.attempt, count(*)::int from hookonce.job j
        join hookonce.receipt r on r.id = j.receipt_id group by 1, 2 order by 1`),
    ).toEqual([
      { type: 'culprit', attempt: 2, count: 1 },
      { type: 'healthy', attempt: 1, count: HEALTHY },
    ])
    // Not only the first jobs: the next jobs are written together again.
    await deliver(hooks, { id: 'next', type: 'healthy' })
    await jobsAre(db, 'processed', HEALTHY + 1)
  })
})

test('connections that an administrator ends cost no job an attempt', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { concurrency: HEALTHY, retry: { maxAttempts: 1 } }).on(
    'test',
    '*',
    (event, ctx) => ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type], rows: 1 }),
  )
  await hooks.start()
  const blocker = await db.pool.connect()
  await blocker.query('begin; lock table effect in access exclusive mode')
  await Promise.all(
    Array.from({ length: HEALTHY }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'healthy' })),
  )
  const ended = await until('a write waits for the lock, and its connection is ended', () =>
    db.number(`select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity
      where datname = current_database() and application_name = 'hookonce' and wait_event_type = 'Lock'`),
  )
  await blocker.query('commit')
  blocker.release()
  await jobsAre(db, 'processed', HEALTHY)
  expect(ended).toBeGreaterThan(0)
  expect(await db.rows('select count(*)::int, max(attempt) as attempt from hookonce.job')).toEqual([
    { count: HEALTHY, attempt: 1 },
  ])
  expect(await db.number('select count(*) from effect')).toBe(HEALTHY)
})
