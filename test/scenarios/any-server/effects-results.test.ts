import { expect, test } from 'vitest'
import type { Context } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

/*
 * Every call that records a result returns the same result to a later attempt, or refuses the
 * value.
 */

type Way = (ctx: Context, key: string, result: () => unknown) => Promise<unknown>

const INSERT = 'insert into effect (type) values ($1)'

const WAYS: Record<string, Way> = {
  'ctx.step': (ctx, key, result) => ctx.step(key, result),
  'ctx.effect': (ctx, key, result) => ctx.effect(key, result),
  'ctx.transaction': (ctx, _, result) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT, ['written'])
      return result()
    }),
  'ctx.transaction, last': (ctx, _, result) =>
    ctx.transaction(
      async (tx) => {
        await tx.query(INSERT, ['written'])
        return result()
      },
      { last: true },
    ),
  'tx.effect': (ctx, key, result) =>
    ctx.transaction((tx) =>
      tx.effect(key, async () => {
        await tx.query(INSERT, ['written'])
        return result()
      }),
    ),
  'ctx.latest': (ctx, key, result) =>
    ctx.latest(key, 1, async (tx) => {
      await tx.query(INSERT, ['written'])
      return result()
    }),
}

class Money {
  readonly amount = 5
}

const REFUSED: readonly (readonly [string, () => unknown])[] = [
  ['a Date', () => new Date(0)],
  ['a Date inside', () => ({ at: [new Date(0)] })],
  ['a Map', () => new Map([[1, 2]])],
  ['a Set', () => ({ set: new Set([1]) })],
  ['NaN', () => Number.NaN],
  ['Infinity', () => [Number.POSITIVE_INFINITY]],
  ['a Buffer', () => ({ bytes: Buffer.from('x') })],
  ['a bigint', () => 1n],
  ['a symbol', () => ({ is: Symbol('x') })],
  ['a function', () => ({ run: () => 1 })],
  ['an instance', () => new Money()],
  ['undefined in a list', () => [1, undefined]],
  ['a list with a hole', () => Array(1)],
  ['a match of a regular expression', () => /b/.exec('abc')],
]

test.each(Object.keys(WAYS))(
  '%s refuses values that JSON would change, and commits no transaction',
  async (way) => {
    const db = await freshDatabase()
    const results = new Map(REFUSED)
    const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
      await WAYS[way]?.(ctx, event.key, () => results.get(event.key)?.())
    })
    await hooks.start()
    for (const name of results.keys()) await deliver(hooks, { id: name, type: 'a' })
    await until('none is at work', () =>
      db.number(`select count(*) = ${REFUSED.length} from hookonce.job where finished_at is not null`),
    )
    const refused = await db.rows<{ name: string }>(
      `select r.event_key as name from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
     where j.state = 'failed' and j.attempt = 1 and j.reason ~ '^RESULT_NOT_JSON: the result of .* holds '`,
    )
    expect(new Set(refused.map(({ name }) => name))).toEqual(new Set(results.keys()))
    expect(await db.number('select count(*) from effect')).toBe(0)
    expect(await db.number('select count(*) from hookonce.step')).toBe(0)
  },
)

const KEPT: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['undefined', undefined],
  ['plain data', { a: [1, 'two', null, { b: true }], c: '' }],
  ['undefined in an object', { a: 1, b: undefined }],
]

test.each(Object.keys(WAYS))('%s returns the same to every attempt and to a replay', async (way) => {
  const db = await freshDatabase()
  const kept = new Map(KEPT)
  const results = new Map<string, unknown[]>(KEPT.map(([name]) => [name, []]))
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    results.get(event.key)?.push(await WAYS[way]?.(ctx, event.key, () => kept.get(event.key)))
    if (ctx.attempt === 1) throw new Error('once more')
  })
  await hooks.start()
  const ids: string[] = []
  for (const name of kept.keys()) ids.push(await deliver(hooks, { id: name, type: 'a' }))
  await jobsAre(db, 'processed', KEPT.length)
  const rounds = results.get('null')?.length ?? 0
  for (const id of ids) await hooks.replay(id)
  await until('the replays have ended', () => [...results.values()].every((all) => all.length > rounds))
  await jobsAre(db, 'processed', KEPT.length)
  for (const [name, result] of KEPT) {
    const expected = way === 'ctx.latest' ? { outcome: 'applied', result } : result
    const all = results.get(name) ?? []
    expect(all, name).toEqual(all.map(() => expected))
  }
  // A last transaction has completed its job: the error that follows it is no failed attempt.
  expect(rounds).toBe(way.endsWith('last') ? 1 : 2)
})

test('a handler may use the result of a last transaction, in a replay too', async () => {
  const db = await freshDatabase()
  const shipped: unknown[] = []
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', async (_, ctx) => {
    const paid = await ctx.transaction((tx) => tx.query('select 1 as "order"'), { last: true })
    shipped.push(paid.rows[0]?.order)
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  await hooks.replay(id)
  await until('the replay has ended', () => shipped.length === 2)
  await jobsAre(db, 'processed')
  expect(shipped).toEqual([1, 1])
})

test('a last transaction without a result writes no row for its step', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (_, ctx) =>
    ctx.transaction(async (tx) => void (await tx.query(INSERT, ['written'])), { last: true }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.number('select count(*) from hookonce.step')).toBe(0)
})

test('the result of a query may be returned: its rows are kept, and must be JSON as well', async () => {
  const db = await freshDatabase()
  const results: unknown[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    const column = event.type === 'dated' ? 'now() as at' : "1 as one, '2'::bigint as two"
    const direct = await ctx.transaction((tx) => tx.query(`select ${column}`))
    const latest = await ctx.latest('a', 1, (tx) => tx.query(`select ${column}`))
    const through = latest.outcome === 'applied' ? latest.result : undefined
    results.push([direct.rows, direct.rowCount, direct.fields[0]?.name, through?.rows])
    if (ctx.attempt === 1) throw new Error('once more')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'plain' })
  await jobsAre(db, 'processed')
  const rows = [{ one: 1, two: '2' }]
  expect(results).toEqual(Array.from({ length: 2 }, () => [rows, 1, 'one', rows]))
  await deliver(hooks, { id: 'evt_2', type: 'dated' })
  await jobsAre(db, 'failed')
  expect(await db.rows(`select reason from hookonce.job where state = 'failed'`)).toEqual([
    { reason: expect.stringContaining('holds a Date at "rows.0.at"') },
  ])
})
