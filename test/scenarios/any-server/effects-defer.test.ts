import { expect, test } from 'vitest'
import { RetryAfter } from '../../../src/index.ts'
import { kit, unstarted } from '../../support/kit.ts'

test('a deferred job is tried again later, any number of times, without counting a failure', async () => {
  const attempts: number[] = []
  const hooks = unstarted({ retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) => {
    attempts.push(ctx.attempt)
    if (attempts.length <= 3) ctx.defer(3_600_000, 'the order is not there yet')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.waitFor({ state: 'retrying' })
  expect(await t.jobs()).toMatchObject([{ reason: 'Deferred: the order is not there yet' }])
  const began = t.clock.now().getTime()
  await t.settled()
  expect(t.clock.now().getTime() - began).toBeGreaterThan(3 * 3_500_000)
  expect(attempts).toEqual([1, 1, 1, 1])
  expect(await t.jobs()).toMatchObject([{ state: 'processed', attempt: 1 }])
  expect(await t.rows('hookonce.attempt')).toEqual([])
  expect(await hooks.metrics()).toMatch(/hookonce_deferred_total\{[^}]*\} 3/)
})

test('a job can be deferred up to the maximum age, and then it fails with the reason', async () => {
  const hooks = unstarted({ retry: { maxAgeMs: 60_000 } }).on('test', '*', (_, ctx) => {
    ctx.defer(59_000 + ctx.attempt * 5_000, 'never there')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()
  expect(await t.jobs()).toMatchObject([
    { state: 'failed', reason: expect.stringMatching(/^gave up after .* hours: Deferred: never there$/) },
  ])
})

test('a caught deferral still defers the job, and its hand-over is dropped', async () => {
  let runs = 0
  const hooks = unstarted().on('test', '*', (_, ctx) => {
    runs += 1
    ctx.write({ text: 'insert into effect (type) values ($1)', values: [`run ${runs}`] })
    try {
      if (runs === 1) ctx.defer(1, 'not yet')
    } catch {
      expect(() => ctx.write({ text: 'select 1' })).toThrow('not yet')
    }
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()
  expect(await t.rows('effect')).toEqual([{ receipt_id: null, type: 'run 2' }])
})

test('the delay of RetryAfter is honoured, and counts as an attempt', async () => {
  const hooks = unstarted().on('test', '*', () => {
    throw new RetryAfter(3_600_000, 'the quota is used up')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.waitFor({ state: 'retrying' })
  const { rows } = await t.pool.query(
    `select attempt, due_at > now() + interval '59 minutes' as late, reason from hookonce.job`,
  )
  expect(rows).toEqual([{ attempt: 1, late: true, reason: 'RetryAfter: the quota is used up' }])
})
