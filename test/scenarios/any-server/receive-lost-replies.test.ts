import { expect, test } from 'vitest'
import { startApp } from '../../support/app.ts'
import { freshDatabase } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

/*
 * The commit was made, but its reply was lost: the sender must not get a 2xx, and the event must
 * run once.
 */

const EVENT = { id: 'evt_1', type: 'count.a' }

test('a receiver killed between commit and reply: the repeat is a duplicate, and the event runs once', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const options = { leaseMs: 1_000, pollMs: 50 }
  const first = await startApp({ ...db, url: proxy.url }, { options })
  proxy.loseRepliesTo('hookonce_accept')
  const sent = first.send(EVENT).then(
    (answer) => answer.status,
    () => 'no answer',
  )
  await until('the commit is made', () => db.number('select count(*) from hookonce.receipt'))
  first.kill('SIGKILL')
  await first.exited()
  expect(await sent).toBe('no answer')
  expect(await db.rows('select state, fence from hookonce.job')).toEqual([{ state: 'processing', fence: 1 }])

  const second = await startApp(db, { options })
  expect((await second.send(EVENT)).status).toBe(200)
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  second.kill('SIGTERM')
  expect(await second.exited()).toBe(0)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  expect(await db.rows('select pid from run')).toEqual([{ pid: second.pid }])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a connection cut between commit and reply: the sender gets 503, and the process runs its stray job once', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  // Heartbeats every 2 s look for strays. The lease outlives the cut.
  const app = await startApp({ ...db, url: proxy.url }, { options: { leaseMs: 6_000, pollMs: 50 } })
  proxy.loseRepliesTo('hookonce_accept')
  const sending = app.send(EVENT)
  await until('the commit is made', () => db.number('select count(*) from hookonce.receipt'))
  proxy.cut()
  const answer = await sending
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('5')
  expect((await app.send(EVENT)).status).toBe(200)
  expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'processing' }])

  // A stray lease is ignored for half a minute. Leases use the database's clock, so move it there.
  await db.pool.query(`update hookonce.job set started_at = started_at - interval '1 minute'`)
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  app.kill('SIGTERM')
  expect(await app.exited()).toBe(0)
  expect(await db.rows('select attempt, pid from run')).toEqual([{ attempt: 1, pid: app.pid }])
  expect(await db.rows('select state, attempt, crashes from hookonce.job')).toEqual([
    { state: 'processed', attempt: 1, crashes: 0 },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a receiver without a worker loses the reply: the repeat is a duplicate, and any worker runs the event', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const receiver = await startApp({ ...db, url: proxy.url }, { works: false })
  proxy.loseRepliesTo('hookonce_accept')
  const sending = receiver.send(EVENT)
  await until('the commit is made', () => db.number('select count(*) from hookonce.receipt'))
  proxy.cut()
  expect((await sending).status).toBe(503)
  expect((await receiver.send(EVENT)).status).toBe(200)
  expect(await db.number('select count(*) from run')).toBe(0)

  await startApp(db, { receives: false })
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  expect(await db.number('select count(*) from effect')).toBe(1)
})
