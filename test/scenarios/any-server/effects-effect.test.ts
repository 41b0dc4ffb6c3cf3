import { expect, test } from 'vitest'
import { NotDone } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { EFFECTS, QUICK_RETRIES } from '../../support/effect-records.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('an effect runs once for its key: across attempts, events, subscribers and replays', async () => {
  const db = await freshDatabase()
  const calls: string[] = []
  const results: unknown[] = []
  const hooks = testHooks(db, QUICK_RETRIES)
  for (const name of ['one', 'two']) {
    hooks.on(
      'test',
      '*',
      async (event, ctx) => {
        const result = await ctx.effect(
          `mail:${event.payload.invoice}`,
          ({ idempotencyKey }) => {
            calls.push(idempotencyKey)
            return { sent: event.key }
          },
          { input: { invoice: event.payload.invoice } },
        )
        results.push(result)
        if (ctx.attempt === 1) throw new Error('after the effect')
      },
      { name },
    )
  }
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a', invoice: 'in_1' })
  await jobsAre(db, 'processed', 2)
  await deliver(hooks, { id: 'evt_2', type: 'a', invoice: 'in_1' })
  await jobsAre(db, 'processed', 4)
  await hooks.replay(id)
  await until('the replay is processed', () =>
    db.number(`select count(*) = 4 from hookonce.job where state = 'processed' and epoch = 0`),
  )
  expect(calls).toHaveLength(1)
  expect(new Set(results.map((result) => JSON.stringify(result)))).toEqual(new Set(['{"sent":"evt_1"}']))
  expect(await db.rows(EFFECTS)).toEqual([{ key: 'mail:in_1', epoch: 0, state: 'done', mode: 'keyed' }])
})

test('two jobs request one effect at once: one runs it, the other waits without using an attempt', async () => {
  const db = await freshDatabase()
  let running = 0
  let most = 0
  let finish = (): void => undefined
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const attempts: number[] = []
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
    const result = await ctx.effect('shared', async () => {
      running += 1
      most = Math.max(most, running)
      await held
      running -= 1
      return 'ran'
    })
    attempts.push(ctx.attempt)
    expect(result).toBe('ran')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the first is at it', () => running === 1)
  await deliver(hooks, { id: 'evt_2', type: 'a' })
  await until('the other waits', () =>
    db.number(`select count(*) from hookonce.job where state = 'retrying' and attempt = 0
      and reason like '%another job is running the effect "shared"%'`),
  )
  finish()
  await jobsAre(db, 'processed', 2)
  expect(most).toBe(1)
  expect(attempts).toEqual([1, 1])
  expect(await hooks.metrics()).toMatch(/hookonce_effect_conflicts_total\{[^}]*\} [1-9]/)
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
})

test('one run that requests an effect twice at once shares one call', async () => {
  const db = await freshDatabase()
  let calls = 0
  const hooks = testHooks(db).on('test', '*', async (_, ctx) => {
    const call = () => ctx.effect('twice', () => ++calls)
    expect(await Promise.all([call(), call()])).toEqual([1, 1])
    expect(await call()).toBe(1)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(calls).toBe(1)
})

test('one run that requests an effect with two inputs is refused, whichever call declared its input first', async () => {
  const db = await freshDatabase()
  const calls: unknown[] = []
  const faults: unknown[] = []
  const hooks = testHooks(db).on(
    'test',
    '*',
    async (_, ctx) => {
      const charge = (input?: number) =>
        ctx
          .effect('charge', () => void calls.push(input), input === undefined ? {} : { input })
          .catch((error) => faults.push(error.code))
      await charge()
      await Promise.all([charge(10), charge(99)])
      await charge(10)
      throw new Error('enough')
    },
    { retry: { maxAttempts: 1 } },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(calls).toEqual([undefined])
  expect(faults).toEqual(['EFFECT_INPUT_CHANGED'])
})

test('a key that is used for another input is refused, and a result that cannot be kept does not undo the effect', async () => {
  const db = await freshDatabase()
  const seen: unknown[] = []
  let calls = 0
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (event, ctx) => {
    if (event.type === 'large') {
      seen.push(await ctx.effect('large', () => `${++calls}${'x'.repeat(70_000)}`))
      return
    }
    await ctx.effect('same', () => 1, { input: event.payload.amount }).catch((error) => seen.push(error))
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a', amount: 1 })
  await jobsAre(db, 'processed', 1)
  await deliver(hooks, { id: 'evt_2', type: 'a', amount: 2 })
  await jobsAre(db, 'processed', 2)
  expect(seen).toEqual([expect.objectContaining({ code: 'EFFECT_INPUT_CHANGED' })])
  const id = await deliver(hooks, { id: 'evt_3', type: 'large' })
  await jobsAre(db, 'failed', 1)
  expect(await db.rows(`select error from hookonce.attempt`)).toEqual([
    { error: expect.stringContaining('STEP_RESULT_TOO_LARGE') },
  ])
  // The effect has happened: a replay does not call again, and has no result to return.
  await hooks.replay(id)
  await jobsAre(db, 'processed', 3)
  expect(calls).toBe(1)
  expect(seen[1]).toBeUndefined()
})

const circular: Record<string, unknown> = {}
circular.self = { again: circular }

test.each([
  { result: { text: '😀'.slice(0, 1) }, says: 'holds half a surrogate pair at "text"' },
  { result: { 'a\0b': 1 }, says: 'holds a NUL character in a key' },
  { result: { list: [{ '\ud83d': 1 }] }, says: 'holds half a surrogate pair in a key at "list.0"' },
  { result: circular, says: 'holds itself at "self.again"' },
])('an effect has happened, for any return value: $says', async ({ result, says }) => {
  const db = await freshDatabase()
  let calls = 0
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
    await ctx.effect(
      'mail',
      () => {
        calls += 1
        return result
      },
      { mode: 'atMostOnce' },
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(calls).toBe(1)
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'done', reason: expect.stringContaining(says) },
  ])
})

test('a result that the database refuses is left out, and the effect is done', async () => {
  const db = await freshDatabase()
  await db.rows(`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if new.result is not null then raise exception 'not this' using errcode = '22P05'; end if;
      return new;
    end $$;
    create trigger refuse before update on hookonce.effect for each row execute function refuse();`)
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', (_, ctx) => ctx.effect('mail', () => 'sent'))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, result, reason from hookonce.effect')).toEqual([
    { state: 'done', result: null, reason: expect.stringContaining('RESULT_NOT_JSON') },
  ])
})

test('a definite refusal stays one, with any characters in it', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
    ctx.effect(
      'charge',
      () => {
        throw new NotDone('answered 422: bad\0body \ud83d')
      },
      { mode: 'atMostOnce' },
    ),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'failed', reason: 'answered 422: bad\ufffdbody \ufffd' },
  ])
})

test('nothing is called under a stale fence', async () => {
  const db = await freshDatabase()
  let called = false
  let fault: unknown
  const hooks = testHooks(db).on('test', '*', async (_, ctx) => {
    await db.rows('update hookonce.job set fence = fence + 1')
    await ctx
      .effect('late', () => {
        called = true
      })
      .catch((error) => {
        fault = error
      })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it was refused', () => fault)
  expect(fault).toMatchObject({ code: 'LEASE_LOST' })
  expect(called).toBe(false)
  expect(await db.number('select count(*) from hookonce.effect')).toBe(0)
})

test('a job does not fail while the outcome of its call is unknown', async () => {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/mail', 'cut', 'cut')
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on('test', '*', (event, ctx) =>
    ctx.fetch(`${other.url}/mail`, { effect: 'mail', mode: event.type as 'keyed', method: 'POST' }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'keyed' })
  await jobsAre(db, 'attention')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining('its job has no attempts left') },
  ])
  await hooks.attention.retrySameKey('mail', { by: 'ann', why: 'it is up again' })
  await jobsAre(db, 'processed')
  expect(other.acted('/mail')).toBe(1)
  expect(other.calls).toHaveLength(3)
})

test('a handler that catches its reason to stop is still stopped', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
    await ctx
      .effect(
        'mail',
        () => {
          throw new Error('lost')
        },
        { mode: 'atMostOnce' },
      )
      .catch(() => undefined)
    if (ctx.attempt === 1) throw new Error('again')
    ctx.write({ text: 'insert into effect (type) values ($1)', values: ['written'] })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'attention')
  expect(await db.number('select count(*) from effect')).toBe(0)
})
