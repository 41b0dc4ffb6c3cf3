import { expect, test } from 'vitest'
import { HookonceError, Permanent, RetryAfter } from '../../../src/index.ts'
import type { TestHooks } from '../../../src/testing/index.ts'
import { kit, unstarted } from '../../support/kit.ts'

/* The delays are the default ones: the clock of the test skips them. */

const JOB = 'select state::text, attempt, crashes, reason from hookonce.job'

async function rowsOf<Row = Record<string, unknown>>(
  { pool }: Pick<TestHooks<never>, 'pool'>,
  text: string,
): Promise<Row[]> {
  return (await pool.query(text)).rows as Row[]
}

test('a handler that fails twice and then succeeds is processed at its third attempt, with both failures recorded', async () => {
  const hooks = unstarted()
  hooks.on('test', '*', (_event, ctx) => {
    if (ctx.attempt < 3) throw new Error(`failure ${ctx.attempt}`)
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()

  expect(await rowsOf(t, JOB)).toEqual([{ state: 'processed', attempt: 3, crashes: 0, reason: null }])
  expect(
    await rowsOf(t, 'select number, fence, outcome, error from hookonce.attempt order by fence'),
  ).toEqual([
    { number: 1, fence: 1, outcome: 'retrying', error: 'Error: failure 1' },
    { number: 2, fence: 2, outcome: 'retrying', error: 'Error: failure 2' },
  ])
})

test('a job is failed after its last attempt, and stays so', async () => {
  const hooks = unstarted()
  hooks.on(
    'test',
    '*',
    () => {
      throw new Error('always')
    },
    { retry: { maxAttempts: 3 } },
  )
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()

  expect(await rowsOf(t, JOB)).toEqual([
    { state: 'failed', attempt: 3, crashes: 0, reason: 'gave up after 3 attempts: Error: always' },
  ])
  expect(await rowsOf(t, 'select number, outcome from hookonce.attempt order by fence')).toEqual([
    { number: 1, outcome: 'retrying' },
    { number: 2, outcome: 'retrying' },
    { number: 3, outcome: 'failed' },
  ])
})

test('a permanent error fails the job at its first attempt', async () => {
  const hooks = unstarted()
  hooks.on('test', '*', () => {
    throw new Permanent('no such customer')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()

  expect(await rowsOf(t, JOB)).toMatchObject([
    { attempt: 1, reason: 'permanent: Permanent: no such customer' },
  ])
})

test('RetryAfter delays the next attempt by at least its delay, on the clock of the database', async () => {
  const hooks = unstarted()
  hooks.on('test', '*', () => {
    throw new RetryAfter(3_600_000, 'the API is busy')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.waitFor({ state: 'retrying' })

  expect(
    await rowsOf(
      t,
      `select extract(epoch from j.due_at - a.ended_at)::int as seconds from hookonce.job j
      join hookonce.attempt a using (receipt_id)`,
    ),
  ).toEqual([{ seconds: 3600 }])
})

test('a job past its maximum age fails, with any number of attempts left', async () => {
  const hooks = unstarted({ retry: { maxAgeMs: 3_600_000 } })
  let runs = 0
  hooks.on('test', '*', () => {
    runs += 1
    throw new Error('always')
  })
  const t = await kit(hooks)
  await hooks.pause('test')
  await t.deliver('test', 'a')
  await t.clock.advance('2h')
  await hooks.resume('test')
  await t.settled()

  expect(runs).toBe(1)
  expect(await rowsOf(t, JOB)).toMatchObject([
    { attempt: 1, reason: 'gave up after 2.0 hours: Error: always' },
  ])
})

test('any thrown value is recorded, and the process continues', async () => {
  const hooks = unstarted()
  const odd: Record<string, unknown> = {
    'odd.undefined': undefined,
    'odd.string': 'just text',
    'odd.bare': Object.create(null),
    'odd.huge': new Error('x'.repeat(5_000_000)),
    'odd.nul': new Error('before\0after'),
    'odd.surrogate': new Error(`${'x'.repeat(1_992)}\u{1F600}`),
    'odd.forever': new RetryAfter(Number.NaN, 'no number'),
  }
  hooks.on('test', '*', (event) => Promise.reject(odd[event.type]), { retry: { maxAttempts: 1 } })
  const t = await kit(hooks)
  for (const type of Object.keys(odd)) await t.deliver('test', type)
  await t.settled()

  const recorded = await rowsOf<{ type: string; error: string }>(
    t,
    `select r.event_type as type, a.error from hookonce.attempt a join hookonce.receipt r on r.id = a.receipt_id order by 1`,
  )
  const errors = Object.fromEntries(
    recorded.map(({ type, error }) => [type, error.replace(/^gave up.*?: /, '')]),
  )
  expect(errors).toMatchObject({
    'odd.undefined': 'thrown: undefined',
    'odd.string': 'thrown: just text',
    'odd.bare': 'thrown: a value without a text',
    'odd.nul': 'Error: before\uFFFDafter',
    'odd.forever': 'RetryAfter: no number',
  })
  expect(errors['odd.huge']).toHaveLength(2_000)
  expect(errors['odd.surrogate']).toMatch(/^Error: x+\uFFFD?$/)
})

test('a delay longer than the ledger can store does not stop other jobs from being settled', async () => {
  const days = 24 * 3_600_000
  const hooks = unstarted({ retry: { maxAgeMs: 365 * days, maxDelayMs: 100 * days } })
  hooks.on('test', '*', (event) => {
    if (event.type === 'late') throw new RetryAfter(90 * days, 'next quarter')
  })
  const t = await kit(hooks)
  await t.deliver('test', 'late')
  await t.deliver('test', 'a')
  await t.waitFor({ type: 'a', state: 'processed' })
  await t.waitFor({ type: 'late', state: 'retrying' })
  expect(
    await rowsOf(t, `select 1 from hookonce.job where due_at > now() + interval '20 days'`),
  ).toHaveLength(1)
})

test('a handler that exceeds its timeout is aborted, its job is retried, and its slot is free for others', async () => {
  const hooks = unstarted({ retry: { baseDelayMs: 3_600_000, maxDelayMs: 3_600_000 } })
  let aborted: unknown
  hooks.on(
    'test',
    '*',
    (event, ctx) => {
      if (event.type !== 'hang') return
      ctx.signal.addEventListener('abort', () => (aborted = ctx.signal.reason))
      return new Promise(() => undefined)
    },
    { timeoutMs: 50, concurrency: 1 },
  )
  const t = await kit(hooks)
  await t.deliver('test', 'hang')
  await t.deliver('test', 'quick')
  await t.waitFor({ type: 'quick', state: 'processed' })

  expect(aborted).toBeInstanceOf(HookonceError)
  expect(aborted).toMatchObject({ code: 'HANDLER_TIMEOUT' })
  expect(await rowsOf(t, `select number, outcome, error from hookonce.attempt`)).toEqual([
    { number: 1, outcome: 'retrying', error: expect.stringContaining('the handler took longer than 50 ms') },
  ])
  expect(
    await rowsOf(t, `select 1 from hookonce.job where state = 'retrying' and worker is null`),
  ).toHaveLength(1)
})
