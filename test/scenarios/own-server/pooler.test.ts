import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { pooled } from '../../support/pgbouncer.ts'
import { until } from '../../support/until.ts'

const EVENTS = 120

test('behind a pooler in transaction mode every event is processed once, with every kind of write', async () => {
  const db = await freshDatabase()
  const url = await pooled(db.url)
  const troubles: string[] = []
  const logger = {
    info: () => undefined,
    warn: () => undefined,
    error: (fields: Record<string, unknown>, message: string) =>
      void troubles.push(`${message}: ${fields.error}`),
  }
  const hooks = testHooks(db, { database: url, prepare: 'off', retry: { baseDelayMs: 1 }, logger })
    .on('test', 'write', (event, ctx) =>
      ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, 'write'], rows: 1 }),
    )
    .on('test', 'transaction', async (event, ctx) => {
      await ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'transaction']))
      if (ctx.attempt === 1) throw new Error('after the commit')
    })
    .on('test', 'last', (event, ctx) =>
      ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'last']), { last: true }),
    )
  await hooks.start()
  const types = ['write', 'transaction', 'last']
  await Promise.all(
    Array.from({ length: EVENTS }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: types[n % 3] ?? '' })),
  )
  await until('all are processed', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === EVENTS
  })
  expect(troubles).toEqual([])
  // Only handlers that throw on purpose were retried.
  const attempts = `select s.name, max(j.attempt) as most from hookonce.job j
    join hookonce.subscriber s on s.id = j.subscriber group by s.name order by s.name`
  expect(await db.rows(attempts)).toEqual([
    { name: 'last', most: 1 },
    { name: 'transaction', most: 2 },
    { name: 'write', most: 1 },
  ])
  expect(
    await db.rows('select type, count(*)::int as count from effect group by type order by type'),
  ).toEqual(['last', 'transaction', 'write'].map((type) => ({ type, count: EVENTS / 3 })))
})
