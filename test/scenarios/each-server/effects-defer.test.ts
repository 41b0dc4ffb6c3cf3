import { expect, test } from 'vitest'
import { RetryAfter } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('a deferred job is tried again later, without counting a failure, however often', async () => {
  const db = await freshDatabase()
  const attempts: number[] = []
  let there = false
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) => {
    attempts.push(ctx.attempt)
    if (!there) ctx.defer(1, 'the order is not there yet')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it was deferred three times', () => attempts.length === 3)
  // Between two attempts: the third may not be settled yet.
  const reason = await until('it waits', async () => {
    const [job] = await db.rows<{ reason: string }>(
      `select reason from hookonce.job where state = 'retrying'`,
    )
    return job?.reason
  })
  expect(reason).toBe('Deferred: the order is not there yet')
  there = true
  await jobsAre(db, 'processed')
  expect(new Set(attempts)).toEqual(new Set([1]))
  expect(await db.rows('select attempt, crashes from hookonce.job')).toEqual([{ attempt: 1, crashes: 0 }])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
  expect(await hooks.metrics()).toMatch(/hookonce_deferred_total\{[^}]*\} [3-9]/)
})

test('a job can be deferred up to the age that a job may reach, and then it fails and says why', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAgeMs: 60_000 } }).on('test', '*', (_, ctx) => {
    ctx.defer(59_000 + ctx.attempt * 5_000, 'never there')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringMatching(/^gave up after .* hours: Deferred: never there$/) },
  ])
})

test('to catch a deferral is not to undo it, and what was handed over is dropped', async () => {
  const db = await freshDatabase()
  let runs = 0
  const hooks = testHooks(db).on('test', '*', (_, ctx) => {
    runs += 1
    ctx.write({ text: 'insert into effect (type) values ($1)', values: [`run ${runs}`] })
    try {
      if (runs === 1) ctx.defer(1, 'not yet')
    } catch {
      expect(() => ctx.write({ text: 'select 1' })).toThrow('not yet')
    }
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.rows('select type from effect')).toEqual([{ type: 'run 2' }])
})

test('RetryAfter is waited for, and counts as an attempt', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', () => {
    throw new RetryAfter(3_600_000, 'the quota is used up')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'retrying')
  expect(
    await db.rows(`select attempt, due_at > now() + interval '59 minutes' as late, reason from hookonce.job`),
  ).toEqual([{ attempt: 1, late: true, reason: 'RetryAfter: the quota is used up' }])
})
