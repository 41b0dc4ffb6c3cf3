import { expect, test } from 'vitest'
import { readEvent } from '../../../src/operate/receipt.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

test('the chain of an event has the commit time of each step and message, and the result of each effect', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { outbox: { publishers: { '*': async () => undefined } } })
  hooks.on(
    'test',
    '*',
    async (_, ctx) => {
      await ctx.step('load', () => 1)
      await ctx.effect('mail:1', () => ({ id: 'msg_1' }), { mode: 'keyed' })
      await ctx.transaction(async (tx) => {
        await tx.query('select 1')
        tx.publish('mailed', { id: 1 })
      })
    },
    { name: 'app' },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'invoice.paid' })
  await until('the message is published', () =>
    db.number(`select count(*) from hookonce.outbox where state = 'published'`),
  )
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const ledger = { pool: db.pool, shards: 16 }
  const chain = await until('the job is processed', async () => {
    const read = await readEvent(ledger, receipt?.id ?? '')
    return read.jobs[0]?.state === 'processed' ? read : undefined
  })
  await hooks.stop()

  const [job] = chain.jobs
  expect(chain.steps.map(({ subscriber, name }) => [subscriber, name])).toEqual(
    job?.steps.map((name) => ['app', name]),
  )
  expect(job?.steps.length).toBe(2)
  for (const { at } of chain.steps) {
    expect(at.getTime()).toBeGreaterThanOrEqual(chain.receipt.receivedAt.getTime())
    expect(at.getTime()).toBeLessThanOrEqual(job?.finishedAt?.getTime() ?? 0)
  }
  expect(chain.effects).toMatchObject([{ key: 'mail:1', state: 'done', resultText: '{"id": "msg_1"}' }])
  const [message] = chain.messages
  expect(message).toMatchObject({ topic: 'mailed', state: 'published', subscriber: 'app' })
  expect(message?.finishedAt?.getTime()).toBeGreaterThanOrEqual(message?.createdAt.getTime() ?? 0)
})
