import { expect, test } from 'vitest'
import type { Context } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('a step runs once, however often its handler fails after it, and returns the same result and key', async () => {
  const db = await freshDatabase()
  const ran: string[] = []
  const results: unknown[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    const result = await ctx.step(
      'charge',
      ({ idempotencyKey }) => {
        ran.push(idempotencyKey)
        return { attempt: ctx.attempt, ids: ['a', null] }
      },
      { input: { amount: 5, of: event.key } },
    )
    const nothing = await ctx.step('nothing', () => undefined)
    results.push([result, nothing])
    expect(ran).toEqual([ctx.idempotencyKey('charge')])
    // Decides by the finished work, not by the attempt number, which a replay resets.
    if (results.length < 3) throw new Error('after the step')
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  await hooks.replay(id)
  await until('the replay is processed', () => results.length === 4)
  expect(ran).toHaveLength(1)
  expect(results).toEqual(Array.from({ length: 4 }, () => [{ attempt: 1, ids: ['a', null] }, undefined]))
})

test('a step that throws is run again; a step whose fence became stale is not recorded', async () => {
  const db = await freshDatabase()
  let runs = 0
  const faults: unknown[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    await ctx
      .step('fragile', async () => {
        runs += 1
        if (event.type === 'stale') await db.rows('update hookonce.job set fence = fence + 1')
        else if (runs === 1) throw new Error('not this time')
      })
      .catch((error) => {
        faults.push(error)
        throw error
      })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(runs).toBe(2)
  await deliver(hooks, { id: 'evt_2', type: 'stale' })
  await until('it was refused', () => faults.length === 2)
  expect(faults[1]).toMatchObject({ code: 'LEASE_LOST' })
  expect(await db.number('select count(*) from hookonce.step')).toBe(1)
})

test.each([
  { fault: 'STEP_REPEATED', says: '"a" was used before', results: ['a', 'a'] as unknown[] },
  { fault: 'STEP_RESULT_TOO_LARGE', says: 'larger than 65536 bytes', results: ['x'.repeat(70_000)] },
  { fault: 'RESULT_NOT_JSON', says: 'holds a Date at "at"', results: [{ at: new Date(0) }] },
  { fault: 'RESULT_NOT_JSON', says: 'holds NaN at "0"', results: [[Number.NaN]] },
  { fault: 'RESULT_NOT_JSON', says: 'holds a bigint', results: [1n] },
  { fault: 'RESULT_NOT_JSON', says: 'holds a NUL character', results: ['\0'] },
])(
  'a value that a step may not return fails the job at once, for good: $fault, $says',
  async ({ fault, says, results }) => {
    const db = await freshDatabase()
    let attempts = 0
    const hooks = testHooks(db, { retry: { maxAttempts: 3, baseDelayMs: 1 } }).on(
      'test',
      '*',
      async (_, ctx) => {
        attempts += 1
        for (const result of results) await ctx.step('a', () => result)
      },
    )
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await jobsAre(db, 'failed')
    expect(attempts).toBe(1)
    const [job] = await db.rows<{ reason: string }>('select reason from hookonce.job')
    expect(job?.reason).toContain(fault)
    expect(job?.reason).toContain(says)
  },
)

test('a step whose declared input changed between attempts is refused, not skipped', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on(
    'test',
    '*',
    async (_, ctx) => {
      await ctx.step('same', () => 1, { input: { b: 1, a: [2] } })
      await ctx.step('charge', () => 1, { input: { amount: ctx.attempt } })
      throw new Error('once more')
    },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining('EFFECT_INPUT_CHANGED: step "charge"') },
  ])
})

/*
 * A claim does not wait for the disk: a crash of the server can undo it, and the next claim raises
 * the same fence. The first run is still alive in its process, and looks like the second wherever
 * only the fence is checked.
 */
test.each(['ctx.step', 'ctx.transaction'])(
  '%s is not run by a second run with the same fence, after the first has recorded it',
  async (way) => {
    const db = await freshDatabase()
    await deliver(
      testHooks(db).on('test', '*', () => undefined, { name: 'app' }),
      { id: 'evt_1', type: 'a' },
    )
    const gates: (() => void)[] = []
    const fences: unknown[] = []
    const ran: string[] = []
    const results: unknown[] = []
    async function startProcess(name: string): Promise<void> {
      // One slot: the first process, whose run continues, must leave the job to the second.
      const hooks = testHooks(db, { concurrency: 1 }).on(
        'test',
        '*',
        async (_, ctx) => {
          fences.push(...(await db.rows('select fence from hookonce.job')))
          await new Promise<void>((resolve) => gates.push(resolve))
          const work = async () => {
            ran.push(name)
            return name
          }
          const done = way === 'ctx.step' ? ctx.step('once', work) : ctx.transaction(work)
          results.push(await done)
        },
        { name: 'app' },
      )
      await hooks.start()
    }
    await startProcess('first')
    await until('the first run waits', () => gates.length === 1)
    // The state after the crash: the claim was never made.
    await db.rows(
      `update hookonce.job set state = 'received', fence = 0, attempt = 0, worker = null, started_at = null`,
    )
    await startProcess('second')
    await until('the second run waits', () => gates.length === 2)
    gates[0]?.()
    await until('the first has recorded it', () => results.length)
    gates[1]?.()
    await until('the second has ended', () => results.length === 2)
    expect(fences).toEqual([{ fence: 1 }, { fence: 1 }])
    expect(ran).toEqual(['first'])
    expect(results).toEqual(['first', 'first'])
  },
)

const BAD = ['with a \0', 'half \ud83d', '', 'x'.repeat(513)]
const WAYS: Record<string, (ctx: Context, name: string, work: () => Promise<void>) => Promise<unknown>> = {
  'ctx.step': (ctx, name, work) => ctx.step(name, work),
  'ctx.transaction': (ctx, name, work) => ctx.transaction(work, { name }),
  'ctx.effect': (ctx, name, work) => ctx.effect(name, work),
  'tx.effect': (ctx, name, work) => ctx.transaction((tx) => tx.effect(name, work)),
  'ctx.latest': (ctx, name, work) => ctx.latest(name, 1, work),
}

test.each(Object.keys(WAYS).flatMap((way) => BAD.map((name) => [way, name] as const)))(
  '%s under a name that cannot be kept is refused before anything is done: %j',
  async (way, name) => {
    const db = await freshDatabase()
    let runs = 0
    const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (_, ctx) => {
      await WAYS[way]?.(ctx, name, async () => {
        runs += 1
      })
    })
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await jobsAre(db, 'failed')
    expect(await db.rows('select attempt, reason from hookonce.job')).toEqual([
      { attempt: 1, reason: expect.stringContaining('CONFIG_INVALID') },
    ])
    expect(runs).toBe(0)
  },
)
