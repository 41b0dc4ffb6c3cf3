import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

function inState(db: TestDatabase, state: string, count: number): Promise<unknown> {
  return until(`${count} jobs are ${state}`, async () => {
    return (await db.number('select count(*) from hookonce.job where state::text = $1', [state])) === count
  })
}

/** Counts the handlers that run at the same time. */
function gauge() {
  let running = 0
  const seen = { most: 0 }
  async function handler(): Promise<void> {
    running += 1
    seen.most = Math.max(seen.most, running)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running -= 1
  }
  return { seen, handler }
}

test('no more handlers run at once than the process allows, whether claimed or born leased', async () => {
  const db = await freshDatabase()
  const receiver = testHooks(db)
  const { seen, handler } = gauge()
  const worker = testHooks(db, { concurrency: 4 })
  for (const hooks of [receiver, worker]) hooks.on('test', '*', handler, { name: 'app' })
  for (let n = 0; n < 25; n += 1) await deliver(receiver, { id: `waiting_${n}`, type: 'a' })
  await worker.start()
  await Promise.all(Array.from({ length: 25 }, (_, n) => deliver(worker, { id: `new_${n}`, type: 'a' })))
  await inState(db, 'processed', 50)

  expect(seen.most).toBeLessThanOrEqual(4)
  expect(seen.most).toBeGreaterThan(1)
  expect(await db.rows('select distinct fence, attempt from hookonce.job')).toEqual([
    { fence: 1, attempt: 1 },
  ])
})

test('a job is not skipped because a claim that found nothing held its slot', async () => {
  const db = await freshDatabase()
  const receiver = testHooks(db)
  const ran: string[] = []
  const worker = testHooks(db, { concurrency: 256, pollMs: 600_000 })
  for (const hooks of [receiver, worker])
    hooks.on('test', '*', (event) => void ran.push(event.key), { name: 'app', concurrency: 1 })
  for (let n = 0; n < 40; n += 1) await deliver(receiver, { id: `${n}`, type: 'a' })
  // Other transactions hold all but one job: the held jobs look due, and a claim skips them.
  const { rows } = await db.pool.query(
    `update hookonce.job set due_at = now() where receipt_id = (select min(receipt_id::text)::uuid from hookonce.job)
     returning receipt_id, (select event_key from hookonce.receipt where id = receipt_id) as key`,
  )
  const locker = await db.pool.connect()
  onTestFinished(() => locker.release())
  await locker.query('begin')
  await locker.query('select from hookonce.job where receipt_id <> $1 for update', [rows[0].receipt_id])
  await worker.start()
  await until('it has run', () => ran.length > 0)
  await locker.query('rollback')

  expect(ran[0]).toBe(rows[0].key)
})

test('no more handlers of one subscriber run at once than it allows, and others have the rest', async () => {
  const db = await freshDatabase()
  const narrow = gauge()
  const wide = gauge()
  const hooks = testHooks(db, { concurrency: 8 })
  hooks.on('test', '*', narrow.handler, { name: 'narrow', concurrency: 2 })
  hooks.on('test', '*', wide.handler, { name: 'wide' })
  await hooks.start()
  await Promise.all(Array.from({ length: 25 }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'a' })))
  await inState(db, 'processed', 50)

  expect(narrow.seen.most).toBe(2)
  expect(wide.seen.most).toBeGreaterThan(2)
  expect(wide.seen.most).toBeLessThanOrEqual(8)
})

test('each subscriber has a job of its own: one that fails does not make another run again', async () => {
  const db = await freshDatabase()
  const runs: string[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxDelayMs: 1 } })
  hooks.on('test', '*', () => void runs.push('steady'), { name: 'steady' })
  hooks.on(
    'test',
    'invoice.paid',
    (_event, ctx) => {
      runs.push('shaky')
      if (ctx.attempt < 3) throw new Error('not yet')
    },
    { name: 'shaky' },
  )
  hooks.on('test', 'invoice.*', () => void runs.push('invoices'))
  hooks.on('test', 'customer.*', () => void runs.push('customers'))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'invoice.paid' })
  await inState(db, 'processed', 3)

  expect([...runs].sort()).toEqual(['invoices', 'shaky', 'shaky', 'shaky', 'steady'])
  expect(
    await db.rows(`select s.name, s.pattern, j.state::text, j.attempt from hookonce.job j
      join hookonce.subscriber s on s.id = j.subscriber order by s.name`),
  ).toEqual([
    { name: 'invoice.*', pattern: 'invoice.*', state: 'processed', attempt: 1 },
    { name: 'shaky', pattern: 'invoice.paid', state: 'processed', attempt: 3 },
    { name: 'steady', pattern: '*', state: 'processed', attempt: 1 },
  ])
})

test('if a slot is free, a job is born leased and needs no claim', async () => {
  const db = await freshDatabase()
  await db.rows(`
    create table born (state text, worker int, fence int);
    create function record_birth() returns trigger language plpgsql as $$
    begin insert into born values (new.state, new.worker, new.fence); return new; end $$;
    create trigger record_birth before insert on hookonce.job for each row execute function record_birth();`)
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined)
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed', 1)

  const [worker] = await db.rows<{ id: number }>('select id from hookonce.worker')
  expect(await db.rows('select * from born')).toEqual([{ state: 'processing', worker: worker?.id, fence: 1 }])
  expect(await db.rows('select fence, attempt from hookonce.job')).toEqual([{ fence: 1, attempt: 1 }])
})

test('if every slot is taken, a job waits in the ledger and is claimed when a slot is free', async () => {
  const db = await freshDatabase()
  let finish = (): void => undefined
  const hooks = testHooks(db, { concurrency: 1 })
  hooks.on('test', '*', (event) =>
    event.type === 'long' ? new Promise<void>((resolve) => (finish = resolve)) : undefined,
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'long' })
  await deliver(hooks, { id: 'evt_2', type: 'short' })
  expect(
    await db.rows(`select r.event_type as type, j.state::text, j.fence, j.worker is null as free from hookonce.job j
      join hookonce.receipt r on r.id = j.receipt_id order by 1`),
  ).toEqual([
    { type: 'long', state: 'processing', fence: 1, free: false },
    { type: 'short', state: 'received', fence: 0, free: true },
  ])
  finish()
  await inState(db, 'processed', 2)
  expect(await db.rows('select distinct fence, attempt from hookonce.job')).toEqual([
    { fence: 1, attempt: 1 },
  ])
})

/** Locks the job of an event, so that it cannot be settled, until the lock is released. */
async function holdJob(db: TestDatabase, key: string): Promise<() => Promise<void>> {
  const client = await db.pool.connect()
  await client.query('begin')
  await client.query(
    `select from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id where r.event_key = $1 for update of j`,
    [key],
  )
  return async () => {
    await client.query('rollback')
    client.release()
  }
}

const stateOf = async (db: TestDatabase, key: string): Promise<string | undefined> => {
  const [job] = await db.rows<{ state: string }>(
    `select j.state::text from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id where r.event_key = $1`,
    [key],
  )
  return job?.state
}

test('a slot is for a handler: when it has ended the next begins, without waiting for the commit', async () => {
  const db = await freshDatabase()
  let letGo = async (): Promise<void> => undefined
  const states: (string | undefined)[] = []
  const hooks = testHooks(db, { concurrency: 1 })
  hooks.on('test', '*', async (event) => {
    if (event.key === 'evt_1') {
      await deliver(hooks, { id: 'evt_2', type: 'a' })
      letGo = await holdJob(db, 'evt_1')
    } else {
      states.push(await stateOf(db, 'evt_1'))
      await letGo()
    }
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed', 2)
  expect(states).toEqual(['processing'])
})

test('the writes that a handler handed over are committed when its slot is given to the next', async () => {
  const db = await freshDatabase()
  await db.rows('create table business (event_key text primary key)')
  const seen: unknown[] = []
  let held = (): void => undefined
  const isHeld = new Promise<void>((resolve) => (held = resolve))
  const hooks = testHooks(db, { concurrency: 1 })
  hooks.on('test', '*', async (event, ctx) => {
    if (event.key === 'evt_1') {
      await deliver(hooks, { id: 'evt_2', type: 'a' })
      ctx.write({ text: 'insert into business values ($1)', values: [event.key] })
      void holdJob(db, 'evt_1').then(async (letGo) => {
        held()
        await until('its settlement waits', () =>
          db.number(
            `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          ),
        )
        // This job would run at once if a slot were free.
        await deliver(hooks, { id: 'evt_3', type: 'a' })
        seen.push([await stateOf(db, 'evt_2'), await stateOf(db, 'evt_3')])
        await letGo()
      })
      await isHeld
    } else seen.push(await db.rows('select event_key from business'))
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed', 3)
  const written = [{ event_key: 'evt_1' }]
  expect(seen).toEqual([['received', 'received'], written, written])
})

test('a process that only works runs the jobs that a process that only receives has accepted', async () => {
  const db = await freshDatabase()
  const receiver = await startApp(db, { works: false })
  for (let n = 0; n < 10; n += 1)
    expect((await receiver.send({ id: `evt_${n}`, type: 'count.a' })).status).toBe(202)
  expect(await db.rows('select distinct state::text, fence, worker from hookonce.job')).toEqual([
    { state: 'received', fence: 0, worker: null },
  ])
  expect(await db.number('select count(*) from hookonce.worker')).toBe(0)
  const worker = await startApp(db, { receives: false, options: { pollMs: 20 } })
  await inState(db, 'processed', 10)

  expect(
    await db.rows('select count(*)::int, count(distinct receipt_id)::int as events from effect'),
  ).toEqual([{ count: 10, events: 10 }])
  expect(await db.rows('select distinct pid from run')).toEqual([{ pid: worker.pid }])
})

test.each([
  ['source', undefined],
  ['subscriber', 'app'],
] as const)(
  'while a %s is paused its events are recorded and wait; they run when it resumes',
  async (_, subscriber) => {
    const db = await freshDatabase()
    const runs: string[] = []
    const hooks = testHooks(db)
    hooks.on('test', '*', (event) => void runs.push(event.key), { name: 'app' })
    hooks.on('test', 'other', () => undefined, { name: 'other' })
    await hooks.start()
    await hooks.pause('test', subscriber)
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await deliver(hooks, { id: 'evt_2', type: 'a' })
    // A poll of another process must not claim them either.
    const other = testHooks(db)
    other.on('test', '*', (event) => void runs.push(event.key), { name: 'app' })
    await other.start()
    await until('both have looked for work', async () => {
      return (await db.number(`select count(*) from hookonce.worker`)) === 2
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(runs).toEqual([])
    expect(await db.rows('select distinct state::text, fence, worker from hookonce.job')).toEqual([
      { state: 'received', fence: 0, worker: null },
    ])

    await hooks.resume('test', subscriber)
    await inState(db, 'processed', 2)
    expect([...runs].sort()).toEqual(['evt_1', 'evt_2'])
  },
)

test('pausing one subscriber leaves the others running', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'one' })
  hooks.on('test', '*', () => undefined, { name: 'two' })
  await hooks.start()
  await hooks.pause('test', 'one')
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await inState(db, 'processed', 1)
  expect(
    await db.rows(
      `select s.name from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber where j.state = 'received'`,
    ),
  ).toEqual([{ name: 'one' }])
})

test('pausing an unknown name is refused', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'one' })
  await expect(hooks.pause('test', 'nobody')).rejects.toThrow(/no subscriber "nobody"/)
})
