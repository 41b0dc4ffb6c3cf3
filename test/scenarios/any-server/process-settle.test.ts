import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cutWhenSilent } from '../../../src/ledger/driver/silent-server.ts'
import { writeCommitter } from '../../../src/process/settle/commit-writes.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

/* Outcomes share their commits. A fault of one must affect neither the others nor an ended run. */
const INSERT = 'insert into effect (receipt_id, type) values ($1, $2)'

interface Held {
  readonly shard: number
  readonly receiptId: string
  readonly subscriber: number
}

/** Jobs that a worker holds, with fence 3. */
async function heldJobs(db: TestDatabase, ids: readonly string[]): Promise<Held[]> {
  const hooks = testHooks(db).on('test', '*', () => undefined)
  await hooks.ledger('test')
  for (const id of ids) await deliver(hooks, { id, type: 'x' })
  await db.rows(
    `update hookonce.job set state = 'processing', fence = 3, worker = 1, attempt = 2, started_at = now()`,
  )
  return db.rows<Held>(
    `select j.shard, j.receipt_id as "receiptId", j.subscriber from hookonce.job j
     join hookonce.receipt r on r.id = j.receipt_id order by r.event_key`,
  )
}

const writing = (job: Held, fence: number, text: string, values: unknown[] = []) => ({
  job: { ...job, fence },
  steps: 0,
  messages: [],
  writes: [{ text, values, rows: undefined }],
})

test('of two runs of one job that end in the same batch, only the one that holds the job writes', async () => {
  const db = await freshDatabase()
  const [job] = await heldJobs(db, ['a'])
  if (!job) throw new Error('no job')
  const ending = (fence: number) => writing(job, fence, INSERT, [job.receiptId, `fence ${fence}`])
  const { together } = writeCommitter({ writes: db.pool, pool: db.pool })
  expect(await together([ending(1), ending(3)])).toEqual([{ kind: 'lost' }, { kind: 'committed' }])
  expect(await db.rows('select type from effect')).toEqual([{ type: 'fence 3' }])
})

test('a run that has lost its job to another neither writes nor completes it', async () => {
  const db = await freshDatabase()
  const [job] = await heldJobs(db, ['a'])
  if (!job) throw new Error('no job')
  const { together } = writeCommitter({ writes: db.pool, pool: db.pool })
  const ending = (fence: number) => writing(job, fence, INSERT, [job.receiptId, `fence ${fence}`])
  expect(await together([ending(2)])).toEqual([{ kind: 'lost' }])
  expect(await db.rows('select state::text as state, fence from hookonce.job')).toEqual([
    { state: 'processing', fence: 3 },
  ])
  expect(await together([ending(3)])).toEqual([{ kind: 'committed' }])
  expect(await db.rows('select type from effect')).toEqual([{ type: 'fence 3' }])
})

test("a write that takes longer than the server's timeout is refused, and delays the others once", async () => {
  const db = await freshDatabase()
  const [slow, good, slowToo, better] = await heldJobs(db, ['a', 'b', 'c', 'd'])
  if (!slow || !good || !slowToo || !better) throw new Error('no jobs')
  await db.rows('create sequence tries')
  const pool = cutWhenSilent(new pg.Pool({ connectionString: db.url, max: 2 }), 1_000)
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const { together, alone } = writeCommitter({ writes: pool, pool: db.pool })
  const sleep = (job: Held) => writing(job, 3, `select nextval('tries'), pg_sleep(30)`)
  const insert = (job: Held, type: string) => writing(job, 3, INSERT, [job.receiptId, type])
  const apart = [{ kind: 'alone' }, { kind: 'committed' }]
  expect(await together([sleep(slow), insert(good, 'good')])).toEqual(apart)
  expect(await together([sleep(slowToo), insert(better, 'better')])).toEqual(apart)
  expect(await alone(sleep(slow))).toMatchObject({ kind: 'refused' })
  expect(await db.rows('select type from effect order by type')).toEqual([
    { type: 'better' },
    { type: 'good' },
  ])
  // Once with others and once alone: the second batch recognised the statement.
  expect(await db.number('select last_value from tries')).toBe(2)
})

test('a write that fails as if the ledger were down leaves its batch at once, and the rest is committed', async () => {
  const db = await freshDatabase()
  const [bad, good, fine] = await heldJobs(db, ['a', 'b', 'c'])
  if (!bad || !good || !fine) throw new Error('no jobs')
  await db.rows(`create function fail() returns void language plpgsql as $$
    begin raise exception 'as if' using errcode = '53200'; end $$`)
  const { together, alone } = writeCommitter({ writes: db.pool, pool: db.pool })
  const failing = writing(bad, 3, 'select fail()')
  const batch = [
    writing(good, 3, INSERT, [good.receiptId, 'good']),
    failing,
    writing(fine, 3, INSERT, [fine.receiptId, 'fine']),
  ]
  expect(await together(batch)).toEqual([{ kind: 'committed' }, { kind: 'alone' }, { kind: 'committed' }])
  expect(await db.number('select count(distinct xmin::text) from effect')).toBe(1)
  expect(await alone(failing)).toMatchObject({ kind: 'refused', error: { code: '53200' } })
})

test('jobs that are committed alone and deadlock are retried, and both are written', async () => {
  const db = await freshDatabase()
  const jobs = await heldJobs(db, ['a', 'b'])
  await db.rows(
    'create table account (id int primary key, balance int); insert into account values (1, 0), (2, 0)',
  )
  const pool = quietPool(new pg.Pool({ connectionString: db.url, max: 2 }))
  onTestFinished(() => pool.end())
  const { alone } = writeCommitter({ writes: pool, pool: db.pool })
  const gate = await db.pool.connect()
  await gate.query('select pg_advisory_lock(1)')
  // Both jobs change one row, wait for each other, and then need the row of the other.
  const ended = jobs.map((job, index) => {
    const add = (id: number) => ({
      text: 'update account set balance = balance + 1 where id = $1',
      values: [id],
      rows: 1,
    })
    const wait = { text: 'select pg_advisory_xact_lock_shared(1)', values: [], rows: undefined }
    return alone({
      job: { ...job, fence: 3 },
      steps: 0,
      messages: [],
      writes: [add(1 + index), wait, add(2 - index)],
    })
  })
  const waiting = `select count(*) from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`
  await until('both wait at the gate', async () => (await db.number(waiting)) === 2)
  await gate.query('select pg_advisory_unlock(1)')
  gate.release()
  expect(await Promise.all(ended)).toEqual([{ kind: 'committed' }, { kind: 'committed' }])
  expect(await db.rows('select balance from account order by id')).toEqual([{ balance: 2 }, { balance: 2 }])
})

const circular: Record<string, unknown> = {}
circular.itself = circular

describe('a write that cannot be done fails its own job, and no other', () => {
  test.each([
    ['too few values', { text: INSERT, values: ['x'] }],
    ['too many values', { text: 'insert into effect (type) values ($1)', values: ['x', 'y'] }],
    ['a value without an end', { text: 'insert into effect (type) values ($1)', values: [circular] }],
    ['a value without JSON', { text: 'insert into effect (type) values ($1)', values: [{ n: 1n }] }],
    ['one that takes too long', { text: 'select pg_sleep(30)', values: [] }],
    ['one that copies', { text: 'copy effect (type) from stdin', values: [] }],
  ])('%s', async (_, bad) => {
    const db = await freshDatabase()
    const name = new URL(db.url).pathname.slice(1)
    await db.rows(`alter role current_user in database ${name} set statement_timeout = '1s'`)
    const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (event, ctx) => {
      ctx.write(event.key === 'bad' ? bad : { text: INSERT, values: [event.receiptId, event.key] })
    })
    await hooks.start()
    await Promise.all(['bad', 'good', 'fine'].map((id) => deliver(hooks, { id, type: 'x' })))
    const ends = await until('all have ended', async () => {
      const rows = await db.rows<{ key: string; state: string }>(
        `select r.event_key as key, j.state::text as state from hookonce.job j
         join hookonce.receipt r on r.id = j.receipt_id order by 1`,
      )
      return rows.every(({ state }) => state === 'processed' || state === 'failed') && rows
    })
    expect(ends).toEqual([
      { key: 'bad', state: 'failed' },
      { key: 'fine', state: 'processed' },
      { key: 'good', state: 'processed' },
    ])
    expect(await db.rows('select type from effect order by type')).toEqual([
      { type: 'fine' },
      { type: 'good' },
    ])
  })
})

test('a person decides on an effect while subscribers have an order', async () => {
  const db = await freshDatabase()
  const got: string[] = []
  let calls = 0
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } })
    .on('test', 'ordered', (event) => void got.push(event.key), { name: 'ordered', ordered: () => 'k' })
    .on(
      'test',
      'charge',
      async (_event, ctx) => {
        await ctx.effect(
          'charge',
          () => {
            calls += 1
            if (calls === 1) throw new Error('the answer was lost')
            return 1
          },
          { mode: 'atMostOnce' },
        )
      },
      { name: 'charge' },
    )
  await hooks.start()
  await deliver(hooks, { id: 'charge', type: 'charge' })
  const ordered = Array.from({ length: 10 }, (_, n) => `o${n}`)
  for (const id of ordered) await deliver(hooks, { id, type: 'ordered' })
  await until('it waits for a person', () =>
    db.number(`select count(*) from hookonce.job where state = 'attention'`),
  )
  await until('the order key has no job left', () => got.length === ordered.length)
  // On any connection: all of them have released order keys.
  await hooks.attention.confirmDone('charge', { by: 'anna', why: 'the bank says so' })
  for (const id of ordered) await deliver(hooks, { id: `${id}-2`, type: 'ordered' })
  await until('the order key has no job left again', () => got.length === 2 * ordered.length)
})
