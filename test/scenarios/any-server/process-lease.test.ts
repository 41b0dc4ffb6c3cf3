import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { proxyTo } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

/** No poll happens during the test. */
const NEVER_MS = 2 ** 31 - 1

test('suspects follow each other without waiting for a poll', async () => {
  const db = await freshDatabase()
  const got: string[] = []
  const hooks = testHooks(db, { pollMs: NEVER_MS }).on('test', '*', (event) => void got.push(event.key))
  await hooks.start()
  await hooks.pause('test')
  const ids = Array.from({ length: 8 }, (_, n) => `e${n}`)
  for (const id of ids) await deliver(hooks, { id, type: 'x' })
  await db.rows(`update hookonce.job set crashes = 1, state = 'retrying', attempt = 1`)
  await hooks.resume('test')
  await until('all have run', () => got.length === ids.length)
  expect(got.sort()).toEqual(ids)
})

test('handing work back may wait for a lock: the heartbeats continue', async () => {
  const db = await freshDatabase()
  let reason: unknown
  const hooks = testHooks(db, { leaseMs: 1_000 }).on('test', '*', async (event, ctx) => {
    if (event.key !== 'long') return
    ctx.signal.addEventListener('abort', () => {
      reason = ctx.signal.reason
    })
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  })
  await hooks.start()
  await deliver(hooks, { id: 'done', type: 'x' })
  await until('it is done', () => db.number(`select count(*) from hookonce.job where state = 'processed'`))
  await deliver(hooks, { id: 'long', type: 'x' })
  // As if the reply to a claim had been lost long ago, while another transaction locked the job.
  await db.rows(
    `update hookonce.job set state = 'processing', worker = (select max(id) from hookonce.worker),
       started_at = now() - interval '1 minute' where state = 'processed'`,
  )
  const client = await db.pool.connect()
  await client.query('begin')
  await client.query(`select from hookonce.job where started_at < now() - interval '50 seconds' for update`)
  await until('it is being given back', () =>
    db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  )
  const beats = async () =>
    (await db.rows<{ at: Date }>('select max(lease_until) as at from hookonce.worker'))[0]?.at
  const before = await beats()
  await until('three more heartbeats', async () => Number(await beats()) >= Number(before) + 1_000)
  expect(reason).toBeUndefined()
  await client.query('rollback')
  client.release()
})

test('of two processes with the same id, the one whose row was lost takes another id', async () => {
  const db = await freshDatabase()
  const reasons: string[] = []
  const start = async () => {
    const hooks = testHooks(db, { leaseMs: 1_000 }).on(
      'test',
      '*',
      async (_event, { signal }) => {
        if (reasons.length > 0) return
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reasons.push(String(signal.reason))
      },
      { name: 'app' },
    )
    await hooks.start()
    return hooks
  }
  const first = await start()
  await deliver(first, { id: 'hangs', type: 'x' })
  await until('it hangs', () => db.number(`select count(*) from hookonce.job where state = 'processing'`))
  // As after a failover to a standby that missed the registration: the next process gets its id.
  const [lost] = await db.rows<{ id: number }>('delete from hookonce.worker returning id')
  await db.rows(`alter table hookonce.worker alter column id restart with ${lost?.id}`)
  await start()
  await until('the first notices', () => reasons.length)
  expect(reasons[0]).toContain('LEASE_LOST')

  const living = 'select id from hookonce.worker where dead_at is null order by id'
  await until('it has another id', async () => (await db.rows(living)).length === 2)
  await first.stop()
  expect(await db.rows(living)).toEqual([lost])
  await until('it runs again', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed' and crashes = 0`),
  )
})

test('a worker whose listening connection receives nothing still stops', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const told: string[] = []
  const hooks = testHooks({ ...db, url: proxy.url }).on('test', '*', async (_event, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    told.push(String(ctx.signal.reason))
  })
  await hooks.start()
  await deliver(hooks, { id: 'a', type: 'x' })
  await until('it runs', () => db.number(`select count(*) from hookonce.job where state = 'processing'`))
  await until('somebody listens', () =>
    db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and query = 'listen hookonce_work'`,
    ),
  )
  proxy.swallow()
  const stopped = hooks.stop({ drainMs: 100 })
  await until('the handler is told', () => told.length === 1)
  expect(told[0]).toContain('this process is stopping')
  // Its work cannot be settled over dead connections, so nothing waits for it.
  proxy.cut()
  await stopped
})

test('a stop may wait for a handler without limit, and two stops wait for the same handler', async () => {
  const db = await freshDatabase()
  let finish = (): void => undefined
  let aborted = false
  const hooks = testHooks(db).on('test', '*', async (_event, ctx) => {
    ctx.signal.addEventListener('abort', () => {
      aborted = true
    })
    await new Promise<void>((resolve) => {
      finish = resolve
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'a', type: 'x' })
  await until('it runs', () => db.number(`select count(*) from hookonce.job where state = 'processing'`))
  const ended: string[] = []
  const first = hooks.stop({ drainMs: Number.POSITIVE_INFINITY }).then(() => ended.push('first'))
  const second = hooks.stop().then(() => ended.push('second'))
  await delay(100)
  expect([aborted, ended]).toEqual([false, []])
  finish()
  await Promise.all([first, second])
  expect(await db.rows('select state::text from hookonce.job')).toEqual([{ state: 'processed' }])
  await expect(hooks.start()).rejects.toThrow(/cannot start again/)
})

test('a second stop shortens the drain of the first, and a longer one does not extend it', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', () => new Promise(() => undefined))
  await hooks.start()
  await deliver(hooks, { id: 'a', type: 'x' })
  await until('it runs', () => db.number(`select count(*) from hookonce.job where state = 'processing'`))
  const first = hooks.stop({ drainMs: Number.POSITIVE_INFINITY })
  const second = hooks.stop({ drainMs: 50 })
  const third = hooks.stop()
  await Promise.all([first, second, third])
  expect(await db.rows('select state::text, crashes from hookonce.job')).toEqual([
    { state: 'received', crashes: 0 },
  ])
})

test('large bodies that wait in the ledger arrive unchanged', async () => {
  const db = await freshDatabase()
  const got = new Map<string, string>()
  const hooks = testHooks(db).on(
    'test',
    '*',
    (event) => void got.set(event.key, Buffer.from(event.body).toString()),
  )
  const text = { small: 'ж'.repeat(1_000), large: 'ж'.repeat(200_000) }
  for (const [id, padding] of Object.entries(text)) await deliver(hooks, { id, type: 'x', padding })
  await hooks.start()
  await until('both have come', () => got.size === 2)
  for (const [id, padding] of Object.entries(text))
    expect(JSON.parse(got.get(id) ?? '')).toMatchObject({ padding })
})
