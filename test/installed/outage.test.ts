import { expect, test } from 'vitest'
import { startApp } from '../support/app.ts'
import { ownServer } from '../support/own-server.ts'
import { sendOn } from '../support/sender.ts'
import { until } from '../support/until.ts'

// On a server of its own: the shared ones belong to the other tests too.
test('the database fails and comes back under load: what was acknowledged is there once and is processed', async () => {
  const server = await ownServer()
  const { db } = server
  const app = await startApp(db, {
    options: { leaseMs: 6_000, pollMs: 50, retry: { baseDelayMs: 50, maxDelayMs: 200 } },
  })
  const sender = sendOn(app.send)
  await until('events are accepted', () => sender.acknowledged.size > 50)
  server.stop()
  await until('the sender is told to come back', () => sender.statuses.includes(503))
  const during = sender.acknowledged.size
  server.start()
  await until('events are accepted again', () => sender.acknowledged.size > during + 50)
  await sender.stop()

  expect(new Set(sender.statuses)).toEqual(new Set([202, 503]))
  // Leases of commits whose reply the outage swallowed are left alone for half a minute: move the clock on.
  await db.pool.query(
    `update hookonce.job set started_at = started_at - interval '1 minute' where state = 'processing'`,
  )
  await until('all work is done', async () => {
    const open = await db.number(`select count(*) from hookonce.job where state <> 'processed'`)
    return open === 0
  })
  expect(app.process.exitCode).toBeNull()
  const keys = (await db.rows<{ event_key: string }>('select event_key from hookonce.receipt')).map(
    (row) => row.event_key,
  )
  expect(new Set(keys).size).toBe(keys.length)
  expect([...sender.acknowledged].filter((key) => !keys.includes(key))).toEqual([])
  // A job on each, and an effect on each; a reply that was lost may have made the app's own effect twice.
  expect(await db.number('select count(*) from hookonce.job')).toBe(keys.length)
  expect(await db.number('select count(distinct receipt_id) from effect')).toBe(keys.length)
  app.kill('SIGTERM')
  expect(await app.exited()).toBe(0)
})
