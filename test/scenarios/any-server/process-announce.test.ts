import { expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

/* The poll interval is longer than a test, so jobs are found only by announcement. */
const NEVER_MS = 600_000

const listeners = (db: TestDatabase): Promise<number> =>
  db.number(
    `select count(*) from pg_stat_activity where datname = current_database() and query like 'listen hookonce%'`,
  )

async function apart(db: TestDatabase) {
  const handled: string[] = []
  const receiver = testHooks(db).on('test', '*', () => undefined, { name: 'app' })
  const worker = testHooks(db, { pollMs: NEVER_MS }).on(
    'test',
    '*',
    (event) => void handled.push(event.key),
    {
      name: 'app',
    },
  )
  await worker.start()
  await until('the worker listens', () => listeners(db))
  return { receiver, handled }
}

test('work that one process leaves is announced to the worker of another', async () => {
  const db = await freshDatabase()
  const { receiver, handled } = await apart(db)
  await deliver(receiver, { id: 'evt_1', type: 'a' })
  await until('it is handled', () => handled.length === 1)
})

test('no announcement is lost, in any order of announcements and claims', async () => {
  const db = await freshDatabase()
  const { receiver, handled } = await apart(db)
  for (let n = 0; n < 2_000; n += 1) {
    const delivered = deliver(receiver, { id: `evt_${n}`, type: 'a' })
    // Some deliveries wait for their answer, so that the next ones are in another commit.
    if (n % 7 === 0) await delivered
  }
  await until('all are handled', () => handled.length === 2_000)
})

test('invalid announcements of others are ignored', async () => {
  const db = await freshDatabase()
  const { receiver, handled } = await apart(db)
  const subscriber = await db.number('select id from hookonce.subscriber')
  const say = (payload: string) => db.pool.query('select pg_notify($1, $2)', ['hookonce_work', payload])
  for (const payload of ['0/99999999', '-1/1', 'x'.repeat(7_000), '0/1 ']) await say(payload)
  await deliver(receiver, { id: 'evt_1', type: 'a' })
  await until('it is handled', () => handled.length === 1)
  // A well-formed announcement of a shard that does not exist: a worker that claimed there would
  // fail. Sent more than once, because announcements during a search are forgotten.
  for (let n = 0; n < 50; n += 1) await say(`99999999/${subscriber}`)
  await deliver(receiver, { id: 'evt_2', type: 'a' })
  await until('the next one as well', () => handled.length === 2)
})

test('a worker whose listening connection was cut listens again, and finds the work announced meanwhile', async () => {
  const db = await freshDatabase()
  const { receiver, handled } = await apart(db)
  await db.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen hookonce%'
    and datname = current_database()`)
  await deliver(receiver, { id: 'evt_meanwhile', type: 'a' })
  await until('it is handled', () => handled.length === 1)
  await deliver(receiver, { id: 'evt_after', type: 'a' })
  await until('the next one as well', () => handled.length === 2)
  expect(await listeners(db)).toBe(1)
})
