import { expect, test } from 'vitest'
import type { AlertOptions } from '../../../src/alerts/config.ts'
import { alertsOf, bucket, evaluate, register, timePasses, toldTo } from '../../support/alerts.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'

/*
 * Each rule: below its limit nothing happens, above it one alert opens, and the alert resolves when
 * the condition ends.
 */

const open = (rule: string, about: string) => [{ rule, about, state: 'open', times: 1 }]
const resolved = (rule: string, about: string) => [{ rule, about, state: 'resolved', times: 1 }]

/** Evaluates until the ended condition counts as resolved. */
async function evaluateUntilOver(db: TestDatabase, options: AlertOptions = {}): Promise<void> {
  await evaluate(db, options)
  await timePasses(db, '6 minutes')
  await evaluate(db, options)
}

/** A week in which the source sent something every ten minutes, except for the last hours. */
async function usualWeek(db: TestDatabase, until: string): Promise<void> {
  await db.rows(
    `insert into hookonce.rollup (size, at, tenant, source, subscriber, received, duplicate)
     select size, at, 'default', 'stripe', '', 100, 2
     from unnest('{10,60}'::smallint[]) size,
       generate_series(now() - interval '7 days', now() - $1::interval, interval '10 minutes') at`,
    [until],
  )
}

test('failures: a share of the finished jobs of a subscriber failed for good', async () => {
  const db = await freshDatabase()
  await bucket(db, '2 minutes', { subscriber: 'app', processed: 1000, failed: 5 })
  await bucket(db, '20 minutes', { subscriber: 'app', failed: 500 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])

  await bucket(db, '1 minute', { subscriber: 'app', failed: 6 })
  await evaluate(db)
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('failures', 'stripe/app'))
  const [told, ...more] = await toldTo(db)
  expect(more).toEqual([])
  expect(told?.opened).toMatchObject([
    {
      says: '11 of 1011 finished jobs failed for good in the last 15 minutes',
      next: 'hookonce failures --source stripe --subscriber app',
    },
  ])

  await timePasses(db, '16 minutes')
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('failures', 'stripe/app'))
  expect((await toldTo(db)).at(-1)).toMatchObject({ opened: [], resolved: [{ rule: 'failures' }] })
})

test('retries: a destination that is down is announced before its first job fails for good', async () => {
  const db = await freshDatabase()
  await bucket(db, '2 minutes', { subscriber: 'app', processed: 12, retrying: 11 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await bucket(db, '1 minute', { subscriber: 'app', retrying: 1 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('retries', 'stripe/app'))
  await timePasses(db, '16 minutes')
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('retries', 'stripe/app'))
})

test('signatures: most deliveries of a source fail verification', async () => {
  const db = await freshDatabase()
  await bucket(db, '2 minutes', { received: 100, unsigned: 20, rejected: 20 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await bucket(db, '1 minute', { unsigned: 10, rejected: 10 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('signatures', 'stripe'))
  expect((await toldTo(db))[0]?.opened[0]?.next).toBe('hookonce rejections --source stripe')
  await timePasses(db, '16 minutes')
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('signatures', 'stripe'))
})

test('lag: the oldest due job waits too long, unless it is paused', async () => {
  const db = await freshDatabase()
  const subscriber = await register(db)
  const insert = `insert into hookonce.job (shard, receipt_id, subscriber, state, due_at)
    values ($1, gen_random_uuid(), ${subscriber}, 'received', now() - $2::interval)`
  await db.rows(insert, [3, '4 minutes'])
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await db.rows(insert, [5, '6 minutes'])
  await db.rows('update hookonce.subscriber set paused_at = now()')
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await db.rows('update hookonce.subscriber set paused_at = null')
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('lag', 'stripe/app'))
  expect((await toldTo(db))[0]?.opened[0]?.says).toBe('the oldest due job has waited 6 minutes')
  await db.rows(`update hookonce.job set state = 'processed'`)
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('lag', 'stripe/app'))
})

test('attention: a job waits for a person', async () => {
  const db = await freshDatabase()
  const subscriber = await register(db)
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await db.rows(
    `insert into hookonce.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
     values (1, gen_random_uuid(), ${subscriber}, 1, gen_random_uuid())`,
  )
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('attention', 'stripe/app'))
  expect((await toldTo(db))[0]?.opened[0]?.next).toBe('hookonce attention list')
  await db.rows('delete from hookonce.attention')
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('attention', 'stripe/app'))
})

test('circuit: the circuit of a destination is open', async () => {
  const db = await freshDatabase()
  let circuits = [{ tenant: 'default', source: 'stripe', subscriber: 'app', since: new Date(0) }]
  const openCircuits = async () => circuits
  await evaluate(db, {}, { openCircuits })
  expect(await alertsOf(db)).toEqual(open('circuit', 'stripe/app'))
  circuits = []
  await evaluate(db, {}, { openCircuits })
  await timePasses(db, '6 minutes')
  await evaluate(db, {}, { openCircuits })
  expect(await alertsOf(db)).toEqual(resolved('circuit', 'stripe/app'))
})

test('duplicates: a source repeats more events than usual', async () => {
  const db = await freshDatabase()
  await bucket(db, '2 minutes', { received: 500, duplicate: 60 })
  await evaluate(db)
  // Without a baseline nothing is a spike.
  expect(await alertsOf(db)).toEqual([])
  await usualWeek(db, '3 hours')
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('duplicates', 'stripe'))
  const [told] = await toldTo(db)
  expect(told?.opened[0]?.says).toBe(
    '10.7 % of deliveries in the last 15 minutes were duplicates (60 of 560); 2 % are usual',
  )
  await timePasses(db, '16 minutes')
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('duplicates', 'stripe'))
})

test('duplicates: a source that always repeats events is not announced', async () => {
  const db = await freshDatabase()
  await usualWeek(db, '3 hours')
  await db.rows('update hookonce.rollup set duplicate = 30')
  await bucket(db, '2 minutes', { received: 100, duplicate: 60 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
})

test('silence: no delivery for longer than the longest gap of the week', async () => {
  const db = await freshDatabase()
  await register(db)
  // One gap of six hours, two days ago; the last delivery was five hours ago.
  await usualWeek(db, '5 hours')
  await db.rows(
    `delete from hookonce.rollup where at between now() - interval '54 hours' and now() - interval '48 hours'`,
  )
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([])
  await timePasses(db, '5 hours')
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('silence', 'stripe'))
  expect((await toldTo(db))[0]?.opened[0]?.says).toBe(
    'no delivery for 10 hours; the longest gap of the last week was 6 hours',
  )
  await bucket(db, '1 minute', { size: 10, received: 1 })
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('silence', 'stripe'))
})

test('silence: a source with little history is not announced, and a removed source is not called healthy', async () => {
  const db = await freshDatabase()
  await register(db)
  await register(db, 'github')
  for (const hours of [40, 39, 38]) await bucket(db, `${hours} hours`, { size: 10, received: 1 })
  for (let n = 0; n < 30; n += 1)
    await bucket(db, `${7 * 24 * 60 - n * 10} minutes`, { size: 10, source: 'github', received: 1 })
  await evaluate(db)
  expect(await alertsOf(db)).toEqual(open('silence', 'github'))
  await db.rows(`delete from hookonce.rollup where source = 'github'`)
  await evaluateUntilOver(db)
  expect(await alertsOf(db)).toEqual(resolved('silence', 'github'))
  expect((await toldTo(db)).at(-1)?.resolved).toMatchObject([
    { says: 'no delivery for a week: the source is no longer watched' },
  ])
})

test('rules can be changed and turned off, for all sources or for one', async () => {
  const db = await freshDatabase()
  for (const source of ['stripe', 'github', 'slack'])
    await bucket(db, '2 minutes', { source, subscriber: 'app', processed: 0, failed: 3 })
  const options: AlertOptions = {
    rules: { failures: { count: 5 } },
    sources: { github: { failures: { count: 2, windowMinutes: 5 } }, slack: { failures: 'off' } },
  }
  await evaluate(db, options)
  expect(await alertsOf(db)).toEqual(open('failures', 'github/app'))
})
