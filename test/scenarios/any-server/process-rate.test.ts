import { expect, onTestFinished, test } from 'vitest'
import { giveBackTokens, takeTokens } from '../../../src/ledger/jobs/limiters.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

const RATE = { perSecond: 40, burst: 4 }

/** The id of a limiter with a full bucket, inserted by the test. */
async function seedLimiter(db: TestDatabase, columns = RATE): Promise<number> {
  return db.number(
    `insert into hookonce.limiter (name, has_circuit, per_second, burst, tokens)
     values ('seeded', false, $1, $2, $2) returning id`,
    [columns.perSecond, columns.burst],
  )
}

function worker(db: TestDatabase, ran: string[]): TestHooks {
  return testHooks(db).on('test', '*', (event) => void ran.push(event.key), { name: 'app', rate: RATE })
}

test('two workers together keep within the rate, by the clock of the database', async () => {
  const db = await freshDatabase()
  const ran: string[][] = [[], []]
  const receiver = worker(db, [])
  for (let n = 0; n < 80; n += 1) await deliver(receiver, { id: `evt_${n}`, type: 'a' })
  // The bucket is full when the workers start, and no token is older.
  await db.rows('update hookonce.limiter set tokens = burst, refilled_at = clock_timestamp()')
  const [start] = await db.rows<{ at: Date }>('select refilled_at as at from hookonce.limiter')
  await Promise.all(ran.map((list) => worker(db, list).start()))
  await jobsAre(db, 'processed', 80)

  // The n-th run needs the n-th token, which does not exist before its time.
  const early = await db.rows(
    `select n, at from (
       select row_number() over (order by started_at) as n, extract(epoch from started_at - $1::timestamptz) as at
       from hookonce.job
     ) runs where n > $2::float8 + $3::float8 * at + 0.001`,
    [start?.at, RATE.burst, RATE.perSecond],
  )
  expect(early).toEqual([])
  expect(ran.flat().sort()).toEqual([...new Set(ran.flat())].sort())
  expect(await db.rows('select distinct attempt, fence from hookonce.job')).toEqual([
    { attempt: 1, fence: 1 },
  ])
})

test('a job within a rate is not born leased, and starts soon after it was accepted', async () => {
  const db = await freshDatabase()
  const ran: string[] = []
  const hooks = worker(db, ran)
  await db.rows(`
    create table born (state text);
    create function record_birth() returns trigger language plpgsql as $$
    begin insert into born values (new.state); return new; end $$;
    create trigger births after insert on hookonce.job for each row execute function record_birth();`)
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed', 1)

  expect(await db.rows('select state from born')).toEqual([{ state: 'received' }])
  expect(ran).toEqual(['evt_1'])
})

test('a subscriber that has used up its rate does not delay another', async () => {
  const db = await freshDatabase()
  const ran: string[] = []
  const receiver = testHooks(db)
  const hooks = testHooks(db)
  for (const each of [receiver, hooks]) {
    each.on('test', 'slow', (event) => void ran.push(event.key), {
      name: 'slow',
      rate: { perSecond: 0.001 },
    })
    each.on('test', 'quick', (event) => void ran.push(event.key), { name: 'quick' })
  }
  for (let n = 0; n < 50; n += 1) await deliver(receiver, { id: `slow_${n}`, type: 'slow' })
  await hooks.start()
  for (let n = 0; n < 50; n += 1) await deliver(receiver, { id: `quick_${n}`, type: 'quick' })
  await jobsAre(db, 'processed', 51)

  expect(ran.filter((key) => key.startsWith('slow_'))).toHaveLength(1)
  expect(await db.number(`select count(*) from hookonce.job where state = 'received' and fence = 0`)).toBe(49)
})

test('tokens are taken one process after the other, and never more than there are', async () => {
  const db = await freshDatabase()
  const limiter = await seedLimiter(db, { perSecond: 0.000_001, burst: 4 })
  const locker = await db.pool.connect()
  onTestFinished(() => locker.release())
  await locker.query('begin; update hookonce.limiter set refilled_at = refilled_at')
  const taking = [1, 2].map(() => takeTokens(db.pool, limiter, 3))
  await until('both wait for the one before', async () => {
    const waiting = `select count(*) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    return (await db.number(waiting)) === 2
  })
  await locker.query('commit')
  const taken = await Promise.all(taking)
  const granted = taken.reduce((sum, tokens) => sum + tokens.granted, 0)

  expect(granted).toBe(4)
  expect(taken.filter((tokens) => tokens.granted < 3).every(({ nextMs }) => nextMs > 1e6)).toBe(true)
})

test('tokens that are given back can be taken again, but not beyond the burst', async () => {
  const db = await freshDatabase()
  const limiter = await seedLimiter(db, { perSecond: 0.000_001, burst: 5 })
  await takeTokens(db.pool, limiter, 2)
  await giveBackTokens(db.pool, limiter, 100)

  expect((await takeTokens(db.pool, limiter, 100)).granted).toBe(5)
})

test('a claim that waited for the lock with an older time takes no tokens away', async () => {
  const db = await freshDatabase()
  const limiter = await seedLimiter(db, { perSecond: 1, burst: 10 })
  await db.rows(`update hookonce.limiter set tokens = 3, refilled_at = now() + interval '1 hour'`)

  expect((await takeTokens(db.pool, limiter, 2)).granted).toBe(2)
  expect(await db.number('select tokens from hookonce.limiter')).toBe(1)
  expect(await db.number('select count(*) from hookonce.limiter where refilled_at > now()')).toBe(1)
})
