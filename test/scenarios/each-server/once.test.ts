import { expect, test } from 'vitest'
import { startApp } from '../../support/app.ts'
import { freshDatabase } from '../../support/database.ts'
import { testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

test('the same event twice is recorded once, run once, and counted', async () => {
  const db = await freshDatabase()
  const app = await startApp(db)
  const first = await app.send({ id: 'evt_1', type: 'count.a' })
  const second = await app.send({ id: 'evt_1', type: 'count.a' })

  expect(first.status).toBe(202)
  expect(second.status).toBe(200)
  expect(await first.json()).toMatchObject({ status: 'recorded' })
  expect(await second.json()).toMatchObject({ status: 'duplicate' })
  await until('the job is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  app.kill('SIGTERM')
  expect(await app.exited()).toBe(0)

  expect(await db.rows('select event_key, event_type from hookonce.receipt')).toEqual([
    { event_key: 'evt_1', event_type: 'count.a' },
  ])
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: 1, mismatches: 0 },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('two starts at the same time are one worker', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', () => undefined)
  await Promise.all([hooks.start(), hooks.start()])
  await hooks.start()
  expect(await db.number('select count(*) from hookonce.worker')).toBe(1)
})
