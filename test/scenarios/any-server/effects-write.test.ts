import { expect, test } from 'vitest'
import type { Handler } from '../../../src/index.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('a write is committed with the completion of its job', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (event, ctx) => {
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type], rows: 1 })
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  const [together] = await db.rows(
    `select e.xmin = j.xmin as "together" from effect e join hookonce.job j using (receipt_id) where j.receipt_id = $1`,
    [id],
  )
  expect(together).toEqual({ together: true })
})

test('the writes of a handler that threw are dropped, and written once by the attempt that succeeds', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', (event, ctx) => {
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, `attempt ${ctx.attempt}`] })
    if (ctx.attempt === 1) throw new Error('not this time')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  expect(await db.rows('select type from effect')).toEqual([{ type: 'attempt 2' }])
})

test('one poisoned write of a hundred fails alone', async () => {
  const db = await freshDatabase()
  await db.rows('create table paid (invoice text primary key, amount int check (amount > 0))')
  const hooks = testHooks(db, { concurrency: 100, retry: { maxAttempts: 1 } }).on(
    'test',
    '*',
    (event, ctx) => {
      ctx.write({ text: 'insert into paid values ($1, $2)', values: [event.key, event.payload.amount] })
    },
  )
  await hooks.start()
  await hooks.pause('test')
  await deliverMany(hooks, 100, (n) => ({ amount: n === 50 ? -1 : n + 1 }))
  await hooks.resume('test')
  await processed(db, 99)
  await until('the poisoned one has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  expect(await db.number('select count(*) from paid')).toBe(99)
  const [failed] = await db.rows<{ reason: string }>(`select reason from hookonce.job where state = 'failed'`)
  expect(failed?.reason).toContain('paid_amount_check')
})

test('a write that changes another number of rows than declared is undone, and fails its attempt', async () => {
  const db = await freshDatabase()
  await db.rows(
    `create table invoice (id text primary key, status text); insert into invoice values ('in_1', 'open')`,
  )
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (event, ctx) => {
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
    ctx.write({
      text: `update invoice set status = 'paid' where id = $1`,
      values: [event.payload.invoice],
      rows: 1,
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'known', invoice: 'in_1' })
  await deliver(hooks, { id: 'evt_2', type: 'unknown', invoice: 'in_2' })
  await processed(db, 1)
  await until('the other has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  expect(await db.rows('select type from effect')).toEqual([{ type: 'known' }])
  expect(await db.rows('select reason from hookonce.job where reason is not null')).toEqual([
    { reason: expect.stringContaining('WRITE_UNEXPECTED: expected to change 1 rows, changed 0') },
  ])
})

test('the writes of a job whose fence was raised meanwhile are not made, those of other jobs are', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { concurrency: 20 }).on('test', '*', async (event, ctx) => {
    if (event.key === 'evt_3')
      await db.rows('update hookonce.job set fence = fence + 1 where receipt_id = $1', [event.receiptId])
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.key] })
  })
  await hooks.start()
  await deliverMany(hooks, 10, () => ({}))
  await processed(db, 9)
  expect(await db.number(`select count(*) from effect where type = 'evt_3'`)).toBe(0)
  expect(await db.number('select count(*) from effect')).toBe(9)
})

test('a worker frozen past its lease writes nothing when it wakes: the successor did', async () => {
  const db = await freshDatabase()
  const options = { leaseMs: 1000, pollMs: 20 }
  const frozen = await startApp(db, { options })
  await frozen.send({ id: 'evt_1', type: 'writeslow.a', ms: 300 })
  await frozen.says('writing')
  frozen.kill('SIGSTOP')
  await startApp(db, { options, receives: false })
  await processed(db, 1)
  frozen.kill('SIGCONT')
  await frozen.says('handled')
  frozen.kill('SIGTERM')
  await frozen.exited()
  const rows = await db.rows<{ pid: number }>('select pid from effect')
  expect(rows).toHaveLength(1)
  expect(rows[0]?.pid).not.toBe(frozen.pid)
})

test('a process killed after its handler wrote and before the commit leaves nothing behind; the next writes once', async () => {
  const db = await freshDatabase()
  const options = { leaseMs: 1000, pollMs: 20 }
  const killed = await startApp(db, { options })
  await killed.send({ id: 'evt_1', type: 'writecrash.a' })
  await killed.exited()
  expect(await db.number('select count(*) from effect')).toBe(0)
  await startApp(db, { options, receives: false })
  await processed(db, 1)
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a connection that breaks at the commit is tried again, and the write is made once', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', (event, ctx) => {
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
  })
  // The server cuts off the first two commits, the second time after the whole batch was sent.
  await db.rows(`
    create sequence cut;
    create function cut() returns trigger language plpgsql as $$
    begin
      if nextval('cut') <= 2 then perform pg_terminate_backend(pg_backend_pid()); end if;
      return null;
    end $$;
    create constraint trigger cut after insert on effect deferrable initially deferred
      for each row execute function cut();`)
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(await db.number('select attempt from hookonce.job')).toBe(1)
})

test('a replay does not repeat writes that were committed', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (event, ctx) => {
    ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  await hooks.replay(id)
  await until('the replay is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed' and fence = 2`),
  )
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('the compiled queries of Drizzle and Kysely are writes, other objects are refused', async () => {
  const db = await freshDatabase()
  const faults: unknown[] = []
  const hooks = testHooks(db).on('test', '*', (event, ctx) => {
    ctx.write({ sql: INSERT_EFFECT, params: [event.receiptId, 'drizzle'], typings: [] })
    ctx.write({ sql: INSERT_EFFECT, parameters: [event.receiptId, 'kysely'], rows: 1 })
    try {
      // @ts-expect-error what is not a statement
      ctx.write({ query: INSERT_EFFECT })
    } catch (error) {
      faults.push(String(error))
    }
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  expect(await db.rows('select type from effect order by type')).toEqual([
    { type: 'drizzle' },
    { type: 'kysely' },
  ])
  expect(faults).toEqual([expect.stringContaining('ctx.write(): text: ')])
})

test.each([
  'commit',
  ' ROLLBACK',
  '-- at last\n commit',
  '/* a /* nested */ comment */ ; begin',
  'savepoint mine',
  'rollback to savepoint mine',
  'release mine',
  'end',
  'start transaction',
  `prepare transaction 'mine'`,
  'set search_path = mine',
  `select set_config('search_path', 'mine', true)`,
])(
  'a write must not control the transaction and the session that it shares with others: %s',
  async (text) => {
    const db = await freshDatabase()
    const hooks = testHooks(db, { retry: { maxAttempts: 2, baseDelayMs: 1 } }).on(
      'test',
      '*',
      (event, ctx) => {
        ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
        if (event.type === 'bad') ctx.write({ text })
      },
    )
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'bad' })
    await deliver(hooks, { id: 'evt_2', type: 'good' })
    await processed(db, 1)
    await jobsAre(db, 'failed')
    expect(await db.rows('select type from effect')).toEqual([{ type: 'good' }])
    expect(await db.rows(`select attempt, reason from hookonce.job where state = 'failed'`)).toEqual([
      { attempt: 1, reason: expect.stringContaining('TRANSACTION_MISUSED') },
    ])
  },
)

test.each([
  'copy effect from stdin',
  '/* all */ COPY effect (type) FROM STDIN with (format csv)',
  'copy effect to stdout',
])('a write cannot copy from or to a stream: %s', async (text) => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (_, ctx) => ctx.write({ text }))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows(`select reason from hookonce.job`)).toEqual([
    { reason: expect.stringContaining('CONFIG_INVALID: ctx.write(): "copy') },
  ])
})

test('a context that is used after its handler has returned is refused', async () => {
  const db = await freshDatabase()
  let late: unknown
  const hooks = testHooks(db).on('test', '*', (_, ctx) => {
    setTimeout(() => {
      try {
        ctx.write({ text: 'select 1' })
      } catch (error) {
        late = error
      }
    }, 20)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it was used late', () => late)
  expect(late).toMatchObject({ code: 'CONTEXT_CLOSED' })
})

async function deliverMany(
  hooks: TestHooks,
  count: number,
  more: (n: number) => Record<string, unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'a', ...more(n) })),
  )
}

async function processed(db: TestDatabase, count: number): Promise<void> {
  await until(`${count} jobs are processed`, async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === count
  })
}

/** A handler that is corrected between replays, and publishers that record their messages. */
async function corrected(first: Handler) {
  const db = await freshDatabase()
  const sent: string[] = []
  let handler = first
  let runs = 0
  const hooks = testHooks(db, {
    outbox: { publishers: { '*': (message) => void sent.push(message.topic) } },
  }).on('test', '*', async (event, ctx) => {
    runs += 1
    await handler(event, ctx)
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await processed(db, 1)
  return {
    db,
    sent,
    async replay(correction: Handler = handler) {
      handler = correction
      const before = runs
      await hooks.replay(id)
      await until('it ran again', () => runs > before)
      await processed(db, 1)
    },
  }
}

const write: Handler = (event, ctx) =>
  ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, 'written'], rows: 1 })
const publish: Handler = (_, ctx) => ctx.publish('paid', 1)
const both: Handler = (event, ctx) => [write(event, ctx), publish(event, ctx)]
const ROWS = 'select count(*) from effect'
const MESSAGES = 'select count(*) from hookonce.outbox'

test.each([
  { first: 'only published', handler: publish },
  { first: 'only wrote', handler: write },
])('a replay does what the first run, which $first, did not do, and repeats nothing', async ({ handler }) => {
  const { db, replay } = await corrected(handler)
  await replay(both)
  expect(await db.number(ROWS)).toBe(1)
  expect(await db.number(MESSAGES)).toBe(1)
  // Messages are deleted from the outbox with time: the step alone must show that they were
  // published.
  await db.rows(`delete from hookonce.outbox where state = 'published'`)
  const left = await db.number(MESSAGES)
  await replay()
  expect(await db.number(ROWS)).toBe(1)
  expect(await db.number(MESSAGES)).toBe(left)
})

test('a completion by ctx.write does not make the ledger forget a last transaction, nor the reverse', async () => {
  const pay =
    (last: boolean): Handler =>
    (event, ctx) =>
      ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'paid']), { name: 'pay', last })
  const { db, replay } = await corrected(pay(true))
  const payAndWrite: Handler = async (event, ctx) => {
    await pay(false)(event, ctx)
    write(event, ctx)
  }
  await replay(payAndWrite)
  await replay()
  expect(await db.number(ROWS)).toBe(2)
  const another: Handler = (event, ctx) =>
    ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'more']), { name: 'more', last: true })
  await replay(another)
  expect(await db.number(ROWS)).toBe(3)
  await replay(payAndWrite)
  expect(await db.number(ROWS)).toBe(3)
})
