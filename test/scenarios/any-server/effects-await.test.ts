import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Context, Event, Options } from '../../../src/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

const INSERT = 'insert into effect (type) values ($1)'
const EFFECTS = 'select key, state::text from hookonce.effect order by key'
const SLOW_MS = 50

/** Unhandled rejections would end a user's process. */
function unhandled(): unknown[] {
  const found: unknown[] = []
  const note = (error: unknown): void => void found.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  return found
}

async function handled(
  handler: (event: Event, ctx: Context) => unknown,
  options: Partial<Omit<Options, 'sources'>> = {},
): Promise<{ db: TestDatabase; lost: unknown[]; attempts: () => number }> {
  const db = await freshDatabase()
  const lost = unhandled()
  let attempts = 0
  const hooks = testHooks(db, { retry: { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 1 }, ...options })
  hooks.on('test', '*', (event, ctx) => {
    attempts += 1
    return handler(event, ctx)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  return { db, lost, attempts: () => attempts }
}

/** The job failed at once for this reason, without an unhandled rejection. */
async function failsOnce(
  { db, lost, attempts }: Awaited<ReturnType<typeof handled>>,
  reason: string,
): Promise<void> {
  await jobsAre(db, 'failed')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining(`CONTEXT_CLOSED: ${reason}`) },
  ])
  await delay(SLOW_MS)
  expect(attempts()).toBe(1)
  expect(lost).toEqual([])
}

test.each([
  {
    what: 'ctx.effect("mail")',
    begin: (ctx: Context) => ctx.effect('mail', () => delay(SLOW_MS)),
    left: { effects: ['done'], steps: 0, rows: 0 },
  },
  {
    what: 'ctx.step("mail")',
    begin: (ctx: Context) => ctx.step('mail', () => delay(SLOW_MS)),
    left: { effects: [], steps: 1, rows: 0 },
  },
  {
    what: 'ctx.transaction()',
    begin: (ctx: Context) => ctx.transaction((tx) => tx.query(INSERT, ['written']).then(() => undefined)),
    left: { effects: [], steps: 1, rows: 1 },
  },
  {
    what: 'ctx.latest("invoice")',
    begin: (ctx: Context) =>
      ctx.latest('invoice', 1, async (tx) => void (await tx.query(INSERT, ['latest']))),
    left: { effects: [], steps: 1, rows: 1 },
  },
])('$what without await fails the job; what was begun is waited for', async ({ what, begin, left }) => {
  const run = await handled((_, ctx) => {
    ctx.write({ text: INSERT, values: ['of a handler that failed'] })
    void begin(ctx)
  })
  await failsOnce(run, `${what} was not awaited`)
  const effects = await run.db.rows<{ state: string }>(EFFECTS)
  expect(effects.map(({ state }) => state)).toEqual(left.effects)
  expect(await run.db.number('select count(*) from hookonce.step')).toBe(left.steps)
  expect(await run.db.number('select count(*) from effect')).toBe(left.rows)
})

test('ctx.fetch without await fails the job, and its reply is recorded', async () => {
  const other = await startDownstream()
  const run = await handled((_, ctx) => {
    void ctx.fetch(`${other.url}/mail`, { effect: 'mail', method: 'POST' })
  })
  await failsOnce(run, 'ctx.fetch("mail") was not awaited')
  expect(other.acted('/mail')).toBe(1)
  expect(await run.db.rows(EFFECTS)).toEqual([{ key: 'mail', state: 'done' }])
})

test('a last transaction that is not awaited does not complete the job', async () => {
  const run = await handled((_, ctx) => {
    void ctx.transaction((tx) => tx.query(INSERT, ['written']), { last: true })
  })
  await failsOnce(run, 'ctx.transaction() was not awaited')
  expect(await run.db.number('select count(*) from effect')).toBe(0)
})

test('a last transaction is refused while another operation is pending', async () => {
  const run = await handled(async (_, ctx) => {
    const mail = ctx.step('mail', () => delay(SLOW_MS))
    await ctx.transaction((tx) => tx.query(INSERT, ['written']), { last: true })
    await mail
  })
  await failsOnce(run, 'a last transaction would end the job before ctx.step("mail") has ended')
  expect(await run.db.number('select count(*) from effect')).toBe(0)
})

test('a helper that is not awaited runs to its end, and ends no process', async () => {
  async function notify(ctx: Context): Promise<void> {
    await ctx.effect('first', () => delay(SLOW_MS))
    await ctx.effect('second', () => delay(SLOW_MS))
  }
  const run = await handled((_, ctx) => {
    void notify(ctx)
  })
  await failsOnce(run, 'ctx.effect("first") was not awaited')
  expect(await run.db.rows(EFFECTS)).toEqual([
    { key: 'first', state: 'done' },
    { key: 'second', state: 'done' },
  ])
})

test.each([
  { name: 'a call', begin: (call: Promise<unknown>) => void call },
  { name: 'what follows a call', begin: (call: Promise<unknown>) => void call.then(() => undefined) },
])(
  '$name that fails while nobody looks fails the job, also before the handler returns',
  async ({ begin }) => {
    const run = await handled(async (_, ctx) => {
      begin(ctx.step('mail', () => Promise.reject(new Error('no such address'))))
      await delay(SLOW_MS)
    })
    await failsOnce(run, 'ctx.step("mail") was not awaited, and failed: Error: no such address')
  },
)

test('a call that is awaited late still returns its result', async () => {
  const caught: unknown[] = []
  const { db, lost } = await handled(async (_, ctx) => {
    const failing = ctx.step('failing', () => Promise.reject(new Error('no such address')))
    const working = ctx.step('working', () => 1)
    await delay(SLOW_MS)
    await failing.catch((error) => caught.push(String(error)))
    caught.push(await working)
  })
  await jobsAre(db, 'processed')
  expect(caught).toEqual(['Error: no such address', 1])
  expect(lost).toEqual([])
})

test('a handler that fails in parallel to its own call is not retried before that call has ended', async () => {
  const results: unknown[] = []
  const { db } = await handled(async (_, ctx) => {
    const charge = async () => {
      await delay(SLOW_MS)
      return { of: ctx.attempt }
    }
    const beside = ctx.attempt === 1 ? Promise.reject(new Error('not this time')) : undefined
    const [result] = await Promise.all([ctx.effect('charge', charge, { mode: 'atMostOnce' }), beside])
    results.push(result)
  })
  await jobsAre(db, 'processed')
  expect(results).toEqual([{ of: 1 }])
})

test('tx.query without await is rolled back and fails the job, whether or not it succeeds', async () => {
  for (const text of [INSERT, 'insert into nowhere values ($1)']) {
    const run = await handled(async (_, ctx) => {
      await ctx.transaction(async (tx) => {
        await tx.query(INSERT, ['first'])
        void tx.query(text, ['second'])
      })
    })
    await failsOnce(run, 'tx.query() was not awaited')
    expect(await run.db.number('select count(*) from effect')).toBe(0)
  }
})

test('operations that a failed transaction began end before the rollback, and leave nothing behind', async () => {
  const { db, lost } = await handled(async (_, ctx) => {
    if (ctx.attempt > 1) return
    await ctx.transaction(async (tx) => {
      await Promise.all([
        tx.effect('slow', async () => {
          await delay(SLOW_MS)
          await tx.query(INSERT, ['slow'])
        }),
        Promise.reject(new Error('not this time')),
      ])
    })
  })
  await jobsAre(db, 'processed')
  await delay(2 * SLOW_MS)
  expect(await db.rows(EFFECTS)).toEqual([])
  expect(await db.number('select count(*) from effect')).toBe(0)
  expect(lost).toEqual([])
})

test('a call after the end is refused, and logged if it is not awaited', async () => {
  const told: unknown[] = []
  const log = (fields: unknown, message: string): void => void told.push([message, fields])
  const { db, lost } = await handled(
    (_, ctx) => {
      setTimeout(() => void ctx.effect('late', () => 1), SLOW_MS)
    },
    { logger: { info: () => undefined, warn: log, error: log } },
  )
  await jobsAre(db, 'processed')
  await until('it is told', () => told.length > 0)
  expect(JSON.stringify(told)).toContain('ctx.effect(\\"late\\")')
  expect(JSON.stringify(told)).toContain('CONTEXT_CLOSED')
  expect(lost).toEqual([])
  expect(await db.rows(EFFECTS)).toEqual([])
})
