import { describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { meeting } from '../../support/meeting-point.ts'

/*
 * Jobs share transactions and connections. Changes of the session by user code that a check of its
 * statement cannot see must affect neither other jobs nor the engine.
 */
const NEIGHBOURS = 10

/** The place of a write, and the settings in force. */
const SEEN = `insert into seen (key, role, path, tenant)
  values ($1, current_user, current_setting('search_path'), coalesce(current_setting('app.tenant', true), ''))`

async function prepared(leak: string): Promise<TestDatabase> {
  const db = await freshDatabase()
  const columns = 'key text, role text, path text, tenant text'
  // Roles belong to the whole server, and other tests create the same role.
  await db.rows(
    `do $$ begin create role leaked; exception when duplicate_object or unique_violation then null; end $$`,
  )
  await db.rows(`
    create table seen (${columns});
    create schema tenant_a;
    create table tenant_a.seen (${columns});
    create table tenant_a.effect (receipt_id uuid, type text);
    create table loud (key text);
    grant usage on schema public, tenant_a to leaked;
    grant insert on seen, tenant_a.seen to leaked;
    create function leak() returns void language plpgsql as $$ begin ${leak} end $$;
    create function leak_by_trigger() returns trigger language plpgsql as $$ begin perform leak(); return new; end $$;
    create trigger leak before insert on loud for each row execute function leak_by_trigger();
    create constraint trigger leak_late after insert on loud deferrable initially deferred
      for each row execute function leak_by_trigger();`)
  return db
}

async function seenOutside(db: TestDatabase): Promise<object> {
  const [expected] = await db.rows<{ role: string; path: string }>(
    `select current_user as role, current_setting('search_path') as path`,
  )
  return { ...expected, tenant: '' }
}

const SEEN_BY_NEIGHBOURS = `select role, path, tenant, count(*)::int from seen group by 1, 2, 3`

const LEAKS = [
  ['a path, for the transaction', `perform set_config('search_path', 'tenant_a', true);`],
  ['a path, for the session', `set search_path = tenant_a;`],
  ['a setting of its own', `perform set_config('app.tenant', 'a', true);`],
  ['a role, for the transaction', `set local role leaked;`],
  ['a role, for the session', `set role leaked;`],
  ['another user', `set session authorization leaked;`],
  [
    'a temporary table',
    `create temp table if not exists seen (key text, role text, path text, tenant text);`,
  ],
  ['a transaction that only reads', `set transaction_read_only = on;`],
] as const

describe.each([
  ['a function', 'select leak()'],
  ['a trigger', 'insert into loud values ($1)'],
])('%s that a write calls changes nothing for other jobs:', (_, text) => {
  test.each(LEAKS)('%s', async (_name, leak) => {
    const db = await prepared(leak)
    const meet = meeting(NEIGHBOURS + 1)
    const hooks = testHooks(db, {
      concurrency: NEIGHBOURS + 1,
      retry: { maxAttempts: 1 },
      outbox: { publishers: 'elsewhere' },
    })
      .on('test', 'leak', async (event, ctx) => {
        await meet()
        ctx.write({ text, values: text.includes('$1') ? [event.key] : [] })
      })
      .on('test', 'see', async (event, ctx) => {
        if (event.key !== 'later') await meet()
        ctx.publish('seen', event.key)
        ctx.write({ text: SEEN, values: [event.key], rows: 1 })
      })
    await hooks.start()
    await deliver(hooks, { id: 'first', type: 'leak' })
    const ids = Array.from({ length: NEIGHBOURS }, (_, n) => `evt_${n}`)
    await Promise.all(ids.map((id) => deliver(hooks, { id, type: 'see' })))
    await jobsAre(db, 'processed', NEIGHBOURS + 1)
    // The next job on the same connection.
    await deliver(hooks, { id: 'later', type: 'see' })
    await jobsAre(db, 'processed', NEIGHBOURS + 2)

    expect(await db.rows(SEEN_BY_NEIGHBOURS)).toEqual([{ ...(await seenOutside(db)), count: NEIGHBOURS + 1 }])
    expect(await db.number('select count(*) from hookonce.outbox')).toBe(NEIGHBOURS + 1)
  })
})

describe('changes of a transaction to its session end with it:', () => {
  test.each([
    'set search_path = tenant_a',
    `select set_config('app.tenant', 'a', false)`,
    'set local role leaked',
    'set role leaked',
    'set session authorization leaked',
    // Changes that a check of the statement cannot see.
    'select leak()',
  ])('%s', async (statement) => {
    const db = await prepared(`set search_path = tenant_a; perform set_config('app.tenant', 'a', false);`)
    const hooks = testHooks(db, { maxConnections: 2, concurrency: 1, retry: { maxAttempts: 1 } }).on(
      'test',
      '*',
      async (event, ctx) => {
        await ctx.transaction((tx) =>
          event.type === 'leak' ? tx.query(statement) : tx.query(SEEN, [event.key]),
        )
        await ctx.effect(`after:${event.key}`, () => undefined, { mode: 'atLeastOnce' })
      },
    )
    await hooks.start()
    for (let n = 1; n <= 6; n += 1) {
      await deliver(hooks, { id: `evt_${n}`, type: n % 2 ? 'leak' : 'see' })
      await jobsAre(db, 'processed', n)
    }
    expect(await db.rows(SEEN_BY_NEIGHBOURS)).toEqual([{ ...(await seenOutside(db)), count: 3 }])
  })

  test('a role that a function has set fails its own transaction only', async () => {
    const db = await prepared('set role leaked;')
    const hooks = testHooks(db, { maxConnections: 2, retry: { maxAttempts: 1 } }).on(
      'test',
      '*',
      async (event, ctx) => {
        await ctx.transaction((tx) =>
          event.type === 'leak' ? tx.query('select leak()') : tx.query(SEEN, [event.key]),
        )
      },
    )
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'leak' })
    await jobsAre(db, 'failed')
    await deliver(hooks, { id: 'evt_2', type: 'see' })
    await jobsAre(db, 'processed')
    expect(await db.rows(SEEN_BY_NEIGHBOURS)).toEqual([{ ...(await seenOutside(db)), count: 1 }])
  })
})

/** Locks of any session, and what else a handler finds in its own. */
const LEFT = `select
  (select count(*)::int from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and l.objid = 42 and d.datname = current_database()) as locks,
  (select count(*)::int from pg_class where relname = 'seen' and relnamespace = pg_my_temp_schema()) as tables,
  (select count(*)::int from pg_cursors where is_holdable) as cursors,
  (select count(*)::int from pg_listening_channels()) as channels,
  (select count(*)::int from pg_prepared_statements where from_sql) as prepared`

describe('what outlives a transaction in its session is removed with it:', () => {
  const TABLE = 'create temp table seen (key text, role text, path text, tenant text)'
  const CURSOR = 'declare kept cursor with hold for select 1'
  test.each([
    ['a lock', 'select pg_advisory_lock(42)'],
    ['a temporary table', TABLE],
    ['a cursor', CURSOR],
    ['a channel', 'listen news'],
    ['a prepared statement', 'prepare kept as select 1'],
    ['any of these, in a function', 'select leak()'],
  ])('%s', async (_, statement) => {
    const db = await prepared(
      `perform pg_advisory_lock(42); execute '${TABLE}'; execute '${CURSOR}'; execute 'listen news';`,
    )
    const left: unknown[] = []
    const hooks = testHooks(db, { maxConnections: 2, concurrency: 1, retry: { maxAttempts: 1 } }).on(
      'test',
      '*',
      async (event, ctx) => {
        const leaking = ctx.transaction(async (tx) => {
          if (event.type === 'see') return void left.push((await tx.query(LEFT)).rows[0])
          await tx.query(statement)
          if (event.type === 'throw') throw new Error('rolled back')
        })
        await leaking.catch(() => undefined)
        if (event.type === 'see') await ctx.transaction((tx) => tx.query(SEEN, [event.key]), { name: 'seen' })
      },
    )
    await hooks.start()
    const types = ['commit', 'see', 'throw', 'see', 'commit', 'see']
    for (const [n, type] of types.entries()) {
      await deliver(hooks, { id: `evt_${n}`, type })
      await jobsAre(db, 'processed', n + 1)
    }
    const nothing = { locks: 0, tables: 0, cursors: 0, channels: 0, prepared: 0 }
    expect(left).toEqual([nothing, nothing, nothing])
    expect(await db.number('select count(*) from seen')).toBe(3)
  })

  test('a lock that a function takes in a write that fails', async () => {
    const db = await prepared('perform pg_advisory_lock(42);')
    const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
      ctx.write({ text: 'select leak()' }, { text: 'select 1 / 0' }),
    )
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'leak' })
    await jobsAre(db, 'failed')
    expect(await db.rows(LEFT)).toMatchObject([{ locks: 0 }])
  })
})

test("settings of the caller's own onConnect apply to every write", async () => {
  const db = await prepared(`perform set_config('search_path', 'public', false);`)
  const { default: pg } = await import('pg')
  const database = new pg.Pool({
    connectionString: db.url,
    onConnect: async (client) => {
      await client.query('set search_path = tenant_a, public; set role leaked')
    },
  })
  for (const { name } of await db.rows<{ name: string }>(
    `select nspname as name from pg_namespace where nspname like 'hookonce%'`,
  ))
    await db.rows(
      `grant all on all tables in schema ${name} to leaked; grant usage on schema ${name} to leaked`,
    )
  const meet = meeting(4)
  const hooks = testHooks(db, { database, concurrency: 4, migrate: 'off' }).on(
    'test',
    '*',
    async (event, ctx) => {
      await meet()
      if (event.type === 'leak') ctx.write({ text: 'select leak()' })
      else ctx.write({ text: SEEN, values: [event.key], rows: 1 })
    },
  )
  await hooks.start()
  await deliver(hooks, { id: 'first', type: 'leak' })
  for (const id of ['a', 'b', 'c']) await deliver(hooks, { id, type: 'see' })
  await jobsAre(db, 'processed', 4)
  expect(await db.rows('select role, path, count(*)::int from tenant_a.seen group by 1, 2')).toEqual([
    { role: 'leaked', path: 'tenant_a, public', count: 3 },
  ])
  await hooks.stop()
  await database.end()
})

test('a function that deallocates the statements of its connection costs other jobs no attempt', async () => {
  const db = await prepared(`execute 'deallocate all';`)
  const meet = meeting(4)
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } })
    .on('test', 'leak', (_, ctx) => ctx.write({ text: 'select leak()' }))
    .on('test', 'see', async (event, ctx) => {
      await meet()
      ctx.write({ text: SEEN, values: [event.key], rows: 1 })
    })
  await hooks.start()
  await deliver(hooks, { id: 'first', type: 'leak' })
  await jobsAre(db, 'processed', 1)
  for (const id of ['a', 'b', 'c', 'd']) await deliver(hooks, { id, type: 'see' })
  await jobsAre(db, 'processed', 5)
  expect(await db.number('select count(*) from seen')).toBe(4)
})

describe('what a function leaves in the session does not fail the next job that does the same:', () => {
  test.each([
    ['a cursor', `execute 'declare kept cursor with hold for select 1';`],
    ['a prepared statement', `execute 'prepare kept as select 1';`],
    // The statement that follows in the same job was prepared before.
    ['no prepared statements', `execute 'deallocate all';`],
  ])('%s', async (_, leak) => {
    const db = await prepared(leak)
    const ids = ['a', 'b', 'c', 'd']
    const meet = meeting(ids.length)
    const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', async (event, ctx) => {
      await meet()
      ctx.write({ text: SEEN, values: [event.key], rows: 1 })
      ctx.write({ text: 'select leak()' })
      ctx.write({ text: SEEN, values: [event.key], rows: 1 })
    })
    await hooks.start()
    for (const id of ids) await deliver(hooks, { id, type: 'see' })
    await jobsAre(db, 'processed', ids.length)
    expect(await db.number('select count(*) from seen')).toBe(ids.length * 2)
  })
})
