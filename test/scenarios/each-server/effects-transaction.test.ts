import { expect, test } from 'vitest'
import { type Context, Permanent } from '../../../src/index.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

test('a transaction is done once, however often its handler fails after it, and returns the same result', async () => {
  const db = await freshDatabase()
  const results: unknown[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    const result = await ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
      return { attempt: ctx.attempt }
    })
    results.push(result)
    if (ctx.attempt < 3) throw new Error('after the commit')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(results).toEqual([{ attempt: 1 }, { attempt: 1 }, { attempt: 1 }])
  expect(await db.rows('select name, fence, result from hookonce.step')).toEqual([
    { name: 'transaction', fence: 1, result: { attempt: 1 } },
  ])
})

test('the last transaction completes its job in the same commit, and a replay does not repeat it', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, event.type]), { last: true })
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.rows('select e.xmin = j.xmin as together from effect e, hookonce.job j')).toEqual([
    { together: true },
  ])
  await hooks.replay(id)
  await until('the replay is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed' and fence = 2`),
  )
  expect(await db.number('select count(*) from effect')).toBe(1)
})

/** Objects of SQL tag functions. */
class Tagged {
  readonly #text: string
  readonly values: readonly unknown[]

  constructor(text: string, values: readonly unknown[]) {
    this.#text = text
    this.values = values
  }

  get text(): string {
    return this.#text
  }
}

test('a named statement is prepared on its connection, and a statement of a tag is accepted', async () => {
  const db = await freshDatabase()
  const prepared: unknown[] = []
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await ctx.transaction(async (tx) => {
      await tx.query({ name: 'insert_effect', text: INSERT_EFFECT, values: [event.receiptId, event.type] })
      const { rows } = await tx.query(
        `select statement from pg_prepared_statements where name = 'insert_effect'`,
      )
      prepared.push(...rows)
      await tx.query({ name: 'end', text: 'commit' }).catch((error) => prepared.push(error.code))
      const { rows: tagged } = await tx.query(new Tagged('select $1::int as one', [1]))
      prepared.push(...tagged)
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(prepared).toEqual([{ statement: INSERT_EFFECT }, 'TRANSACTION_MISUSED', { one: 1 }])
})

test.each([
  'select 1; commit',
  'commit; begin',
  `insert into effect (receipt_id, type) values (gen_random_uuid(), 'two'); select 1`,
])('one text is one statement, so that none can end the transaction within: %s', async (text) => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
      await tx.query(text)
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select attempt, reason from hookonce.job')).toEqual([
    { attempt: 1, reason: expect.stringContaining('TRANSACTION_MISUSED') },
  ])
  expect(await db.number('select count(*) from effect')).toBe(0)
})

test('the server ends the transaction of a frozen handler at its timeout', async () => {
  const db = await freshDatabase()
  const limits: unknown[] = []
  const look = async (_event: unknown, ctx: Context): Promise<void> => {
    const { rows } = await ctx.transaction((tx) => tx.query('show idle_in_transaction_session_timeout'))
    limits.push(rows[0]?.idle_in_transaction_session_timeout)
  }
  const hooks = testHooks(db).on('test', 'usual', look).on('test', 'short', look, { timeoutMs: 7_000 })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'usual' })
  await until('the first is processed', () => limits.length)
  await deliver(hooks, { id: 'evt_2', type: 'short' })
  await until('the second is processed', () => limits.length === 2)
  await deliver(hooks, { id: 'evt_3', type: 'usual' })
  await until('the third is processed', () => limits.length === 3)
  expect(limits).toEqual(['1min', '7s', '1min'])
})

test('a transaction that throws leaves nothing behind', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
      throw new Permanent('changed my mind')
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the job has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  expect(await db.number('select count(*) from effect')).toBe(0)
  expect(await db.number('select count(*) from hookonce.step')).toBe(0)
})

test.each([{ last: false }, { last: true }])(
  'a transaction under a stale fence is rolled back (last: $last)',
  async ({ last }) => {
    const db = await freshDatabase()
    let error: unknown
    const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
      try {
        await ctx.transaction(
          async (tx) => {
            await tx.query(INSERT_EFFECT, [event.receiptId, event.type])
            await db.rows('update hookonce.job set fence = fence + 1')
          },
          { last },
        )
      } catch (thrown) {
        error = thrown
      }
    })
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await until('the transaction has failed', () => error)
    expect(error).toMatchObject({ code: 'LEASE_LOST' })
    expect(await db.number('select count(*) from effect')).toBe(0)
    expect(await db.rows('select state::text, fence from hookonce.job')).toEqual([
      { state: 'processing', fence: 2 },
    ])
  },
)

test('a process killed inside its transaction leaves nothing; killed after it, the transaction is not repeated', async () => {
  const db = await freshDatabase()
  const options = { leaseMs: 1000, pollMs: 20 }
  const killed = await startApp(db, { options })
  await killed.send({ id: 'evt_inside', type: 'txcrash.inside' })
  await killed.exited()
  expect(await db.number('select count(*) from effect')).toBe(0)
  const second = await startApp(db, { options })
  await until('the first is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  await second.send({ id: 'evt_after', type: 'txcrash.after' })
  await second.exited()
  await startApp(db, { options, receives: false })
  await until(
    'both are processed',
    async () => (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 2,
  )
  expect(await db.rows('select type from effect order by type')).toEqual([
    { type: 'txcrash.after' },
    { type: 'txcrash.inside' },
  ])
})

test('serialization failures are retried inside', async () => {
  const db = await freshDatabase()
  await db.rows('create table account (id int primary key, balance int); insert into account values (1, 0)')
  const hooks = testHooks(db, { concurrency: 4, maxConnections: 8 }).on('test', '*', (_, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('set transaction isolation level repeatable read')
      const { rows } = await tx.query<{ balance: number }>('select balance from account where id = 1')
      await tx.query('update account set balance = $1 where id = 1', [Number(rows[0]?.balance) + 1])
    }),
  )
  await hooks.start()
  await Promise.all(Array.from({ length: 8 }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'a' })))
  await jobsAre(db, 'processed', 8)
  expect(await db.number('select balance from account')).toBe(8)
})

test('a failing part of a transaction is undone alone, and the rest is committed', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db).on('test', '*', async (event, ctx) => {
    await ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, 'before'])
      await tx
        .savepoint(async () => {
          await tx.query(INSERT_EFFECT, [event.receiptId, 'undone'])
          await tx.savepoint(() => tx.query('select 1 / 0'))
        })
        .catch(() => undefined)
      await tx.savepoint(() => tx.query(INSERT_EFFECT, [event.receiptId, 'inside']))
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(await db.rows('select type from effect order by type')).toEqual([
    { type: 'before' },
    { type: 'inside' },
  ])
})

test('deadlocks are retried inside', async () => {
  const db = await freshDatabase()
  await db.rows(
    'create table account (id int primary key, balance int); insert into account values (1, 0), (2, 0)',
  )
  let tries = 0
  let bothHold = (): void => undefined
  const held = new Promise<void>((resolve) => {
    bothHold = resolve
  })
  const hooks = testHooks(db).on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      const [first, second] = event.type === 'up' ? [1, 2] : [2, 1]
      await tx.query('update account set balance = balance + 1 where id = $1', [first])
      tries += 1
      if (tries === 2) bothHold()
      await held
      await tx.query('update account set balance = balance + 1 where id = $1', [second])
    }),
  )
  await hooks.start()
  await Promise.all(['up', 'down'].map((type) => deliver(hooks, { id: type, type })))
  await jobsAre(db, 'processed', 2)
  expect(tries).toBeGreaterThan(2)
  expect(await db.rows('select balance from account order by id')).toEqual([{ balance: 2 }, { balance: 2 }])
  expect(await db.number('select max(attempt) from hookonce.job')).toBe(1)
})

test('an effect key claimed inside a transaction is committed with it, and makes the write once for all events', async () => {
  const db = await freshDatabase()
  const results: unknown[] = []
  const hooks = testHooks(db, { concurrency: 8, maxConnections: 8, retry: { baseDelayMs: 1 } })
  hooks.on('test', '*', async (event, ctx) => {
    const result = await ctx.transaction((tx) =>
      tx.effect('credit:1', async () => {
        await tx.query(INSERT_EFFECT, [event.receiptId, 'credit'])
        if (event.key === 'evt_0' && ctx.attempt === 1) throw new Error('rolled back')
        return { by: event.key }
      }),
    )
    results.push(result)
  })
  await hooks.start()
  await Promise.all(Array.from({ length: 8 }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'a' })))
  await jobsAre(db, 'processed', 8)
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
  expect(await db.rows('select mode, state::text from hookonce.effect')).toEqual([
    { mode: 'tx', state: 'done' },
  ])
  expect(
    await db.number('select count(*) from effect e join hookonce.effect h on e.receipt_id = h.receipt_id'),
  ).toBe(1)
})

test('a transaction that meets an effect of unknown outcome is rolled back, and its job waits for a person', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on('test', '*', async (event, ctx) => {
    if (event.type === 'call') {
      await ctx.effect('credit:1', () => Promise.reject(new Error('lost')), { mode: 'atMostOnce' })
    }
    await ctx.transaction(async (tx) => {
      await tx.query(INSERT_EFFECT, [event.receiptId, 'before'])
      await tx
        .effect('credit:1', () => tx.query(INSERT_EFFECT, [event.receiptId, 'credit']))
        .catch(() => undefined)
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'call' })
  await until('the first waits', () =>
    db.number(`select count(*) from hookonce.job where state = 'attention'`),
  )
  await deliver(hooks, { id: 'evt_2', type: 'write' })
  await until(
    'both wait',
    async () => (await db.number(`select count(*) from hookonce.job where state = 'attention'`)) === 2,
  )
  expect(await db.number('select count(*) from effect')).toBe(0)
  await hooks.attention.confirmDone('credit:1', { by: 'ann', why: 'seen' })
  await jobsAre(db, 'processed', 2)
  expect(await db.rows('select type from effect')).toEqual([{ type: 'before' }, { type: 'before' }])
})
