import pg, { type ClientBase } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { keyStoreContract } from '../../../src/keys/contract/index.ts'
import { type KeyStore, once, type PostgresKeysOptions, postgresKeys } from '../../../src/keys/index.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { freshDatabase, makeDatabase, type TestDatabase } from '../../support/database.ts'
import { keyedServer } from '../../support/idempotent-server.ts'
import { proxyTo } from '../../support/proxy.ts'
import { countRoundTrips } from '../../support/round-trips.ts'
import { until } from '../../support/until.ts'

function opened(options: PostgresKeysOptions) {
  const store = postgresKeys(options)
  onTestFinished(() => store.close())
  return store
}

describe('the contract of key stores, in PostgreSQL', () => {
  let db: Awaited<ReturnType<typeof makeDatabase>>
  let store: KeyStore
  beforeAll(async () => {
    db = await makeDatabase()
    store = postgresKeys({ database: db.pool })
  })
  afterAll(async () => {
    await store.close()
    await db.remove()
  })
  for (const { name, run } of keyStoreContract(['steps', 'sweep', 'pledges'])) test(name, () => run(store))

  test('all cases, without prepared statements', async () => {
    const { url } = await freshDatabase()
    const store = opened({ database: url, prepare: 'off' })
    await Promise.all(keyStoreContract(['steps', 'sweep', 'pledges']).map(({ run }) => run(store)))
  })
})

test('a transactional handler whose commit succeeded, but whose reply was lost: its effect and its result count', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const store = opened({ database: proxy.url })
  const options = { tenant: 'global', handler: 'transactional' } as const
  let runs = 0
  const work = async ({ tx }: { tx: { query(text: string): Promise<unknown> } }) => {
    await tx.query(`insert into effect (type) values ('order')`)
    // The reset follows the verb; other statements contain synchronous_commit.
    proxy.loseRepliesTo('commit; reset')
    return ++runs
  }
  const first = once(store, 'one', work, options)
  await until('the commit happened', async () => (await db.number('select count(*) from effect')) === 1)
  proxy.cut()
  expect(await first).toBe(1)
  expect(await once(store, 'one', work, options)).toBe(1)
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a transaction that is used after its end is refused: its connection is in another transaction by then', async () => {
  const db = await freshDatabase()
  const store = opened({ database: db.url })
  let kept: { query(text: string): Promise<unknown> } | undefined
  const work = async ({ tx }: { tx: { query(text: string): Promise<unknown> } }) => {
    kept = tx
    await tx.query(`insert into effect (type) values ('order')`)
  }
  await once(store, 'one', work, { tenant: 'global', handler: 'transactional' })
  await expect(kept?.query(`insert into effect (type) values ('late')`)).rejects.toMatchObject({
    code: 'TRANSACTION_MISUSED',
  })
  expect(await db.rows('select type from effect')).toEqual([{ type: 'order' }])
})

test.each(['commit', '/* done */ rollback', 'select 1; commit', 'commit; begin'])(
  'a transactional handler does not end its transaction, which ends with what is kept of it: %s',
  async (text) => {
    const db = await freshDatabase()
    const store = postgresKeys({ database: db.url })
    onTestFinished(() => store.close())
    const run = (said: string) =>
      once(
        store,
        'one',
        async ({ tx }) => {
          await tx.query(`insert into effect (type) values ('order')`)
          await tx.query({ text: said })
          return 1
        },
        { tenant: 'global', handler: 'transactional' },
      )
    await expect(run(text)).rejects.toThrow('TRANSACTION_MISUSED')
    expect(await db.number('select count(*) from effect')).toBe(0)
    expect(await run('select 1')).toBe(1)
    expect(await db.number('select count(*) from effect')).toBe(1)
  },
)

test.each([
  ['a text and a callback', (said: string) => said],
  ['an object and a callback', (said: string) => ({ text: said })],
  ['a query of pg itself', (said: string) => new pg.Query(said)],
])('nor does it with several statements in %s', async (_, asked) => {
  const db = await freshDatabase()
  const store = postgresKeys({ database: db.url })
  onTestFinished(() => store.close())
  const say = (tx: ClientBase, said: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const query = asked(said)
      if (query instanceof pg.Query) tx.query(query.on('end', resolve).on('error', reject))
      else Reflect.apply(tx.query, tx, [query, (error: unknown) => (error ? reject(error) : resolve(1))])
    })
  const run = (said: string) =>
    once(
      store,
      'one',
      async ({ tx }) => {
        await say(tx, said)
        throw new Error('rolled back')
      },
      { tenant: 'global', handler: 'transactional' },
    )
  const INSERT = `insert into effect (type) values ('order')`
  await expect(run(`${INSERT}; commit`)).rejects.toThrow()
  expect(await db.number('select count(*) from effect')).toBe(0)
  await expect(run('commit')).rejects.toThrow('TRANSACTION_MISUSED')
  await expect(run(INSERT)).rejects.toThrow('rolled back')
  expect(await db.number('select count(*) from effect')).toBe(0)
})

describe('what a transactional handler leaves in its session is removed:', () => {
  const LEAKS = [
    'set search_path = other',
    `select set_config('app.tenant', 'a', false)`,
    'set role leaked_by_keys',
    'select pg_advisory_lock(42)',
    'create temp table effect (type text)',
    'declare kept cursor with hold for select 1',
    'listen news',
    'prepare kept as select 1',
  ]
  const FOUND = `select current_setting('search_path') as path, coalesce(current_setting('app.tenant', true), '') as tenant,
    current_user as role, to_regclass('pg_temp.effect') as temporary,
    (select count(*)::int from pg_locks where locktype = 'advisory' and objid = 42 and pid = pg_backend_pid()) as locks,
    (select count(*)::int from pg_cursors where is_holdable) as cursors,
    (select count(*)::int from pg_listening_channels()) as channels,
    (select count(*)::int from pg_prepared_statements where from_sql) as prepared`

  test.each(['by its commit', 'by its rollback'])('%s', async (end) => {
    const db = await freshDatabase()
    await db.rows(
      `do $$ begin create role leaked_by_keys; exception when duplicate_object or unique_violation then null; end $$`,
    )
    const store = opened({ database: db.url, maxConnections: 1 })
    const run = (key: string, work: (tx: ClientBase) => Promise<unknown>) =>
      once(store, key, ({ tx }) => work(tx), { tenant: 'global', handler: 'transactional' })
    const look = (key: string) => run(key, async (tx) => (await tx.query(FOUND)).rows[0])
    const before = await look('before')
    // The store writes the result under the role of the handler.
    await db.rows('grant select, update on all tables in schema public to leaked_by_keys')
    for (const [n, leak] of LEAKS.entries()) {
      const leaking = run(leak, async (tx) => {
        await tx.query(leak)
        if (end === 'by its rollback') throw new Error('rolled back')
      })
      if (end === 'by its rollback') await expect(leaking).rejects.toThrow('rolled back')
      else await leaking
      expect(await look(`after ${n}`), leak).toEqual(before)
    }
  })

  test('but the settings of a handler on the pool of the caller are left alone', async () => {
    const db = await freshDatabase()
    const database = quietPool(new pg.Pool({ connectionString: db.url, max: 1 }))
    onTestFinished(() => database.end())
    const store = opened({ database })
    const options = { tenant: 'global', handler: 'transactional' } as const
    await once(store, 'one', ({ tx }) => tx.query(`set app.tenant = 'a'`).then(() => 1), options)
    expect((await database.query(`select current_setting('app.tenant') as tenant`)).rows).toEqual([
      { tenant: 'a' },
    ])
  })
})

describe('the table of keys', () => {
  /** From now on, the role looks for tables in `other` before `public`. */
  async function redirect(db: TestDatabase): Promise<void> {
    await db.pool.query('create schema other')
    await db.pool.query('create table other.hookonce_key (like public.hookonce_key including all)')
    const [row] = await db.rows<{ name: string }>('select current_database() as name')
    await db.pool.query(`alter role current_user in database ${row?.name} set search_path = other, public`)
  }

  test('is found once, where it was made: a search path does not lead elsewhere afterwards', async () => {
    const db = await freshDatabase()
    const store = opened({ database: db.url, maxConnections: 1 })
    const run = (key: string) => once(store, key, () => key, { tenant: 'global' })
    await run('one')
    await redirect(db)
    // Connections from before the change are closed, so all connections have the other search path.
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'hookonce keys'`,
    )
    expect(await run('one')).toBe('one')
    expect(await run('two')).toBe('two')
    expect(await db.number('select count(*) from public.hookonce_key')).toBe(2)
    expect(await db.number('select count(*) from other.hookonce_key')).toBe(0)
  })

  test('is the same for the transactions of handlers, whatever their pool looks at', async () => {
    const db = await freshDatabase()
    await opened({ database: db.url }).read('00'.repeat(32))
    await db.pool.query('create schema other')
    await db.pool.query('create table other.hookonce_key (like public.hookonce_key including all)')
    const pool = quietPool(new pg.Pool({ connectionString: db.url, max: 2 }))
    // The database is dropped while the last connection is still closing.
    pool.on('error', () => undefined)
    onTestFinished(() => pool.end())
    const store = opened({ database: pool })
    const work = async ({ tx }: { tx: ClientBase }) => {
      await tx.query('set local search_path = other')
      return 1
    }
    expect(await once(store, 'one', work, { tenant: 'global', handler: 'transactional' })).toBe(1)
    expect(await db.rows('select state from public.hookonce_key')).toEqual([{ state: 'completed' }])
  })

  test('of an older installation is found where its search path had put it', async () => {
    const db = await freshDatabase()
    await opened({ database: db.url }).read('00'.repeat(32))
    await db.pool.query('create schema "My Keys"')
    await db.pool.query('alter table hookonce_key set schema "My Keys"')
    await db.pool.query('alter table hookonce_key_pledge set schema "My Keys"')
    const options = `-c search_path="My\\ Keys",public`
    const store = opened({ database: `${db.url}?options=${encodeURIComponent(options)}`, migrate: 'off' })
    expect(await once(store, 'one', () => 1, { tenant: 'global' })).toBe(1)
    expect(await db.number('select count(*) from "My Keys".hookonce_key')).toBe(1)
  })

  test('that is missing is named, with the command that makes it', async () => {
    const db = await freshDatabase()
    const store = opened({ database: db.url, migrate: 'off' })
    await expect(once(store, 'one', () => 1, { tenant: 'global' })).rejects.toThrow('hookonce migrate --keys')
  })
})

test('a label may be any text', async () => {
  const { url } = await freshDatabase()
  const store = opened({ database: url })
  for (const label of ['half a \ud83d', 'a \0 in it', 'é 😀'])
    expect(await once(store, label, () => 1, { tenant: 'global', label })).toBe(1)
})

test('a transactional handler whose connection broke before the commit leaves nothing, and the next one runs', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const store = opened({ database: proxy.url })
  const options = { tenant: 'global', handler: 'transactional' } as const
  const broken = once(
    store,
    'one',
    async ({ tx }) => {
      await tx.query(`insert into effect (type) values ('lost')`)
      proxy.cut()
      return tx.query('select 1')
    },
    options,
  )
  await expect(broken).rejects.toThrow(/terminated|ended|closed|reset/i)
  expect(await db.number('select count(*) from effect')).toBe(0)
  await once(
    store,
    'one',
    ({ tx }) => tx.query(`insert into effect (type) values ('kept')`).then(() => 1),
    options,
  )
  expect(await db.rows('select type from effect')).toEqual([{ type: 'kept' }])
})

test('a table that is locked for too long: refused, and nothing is left locked afterwards', async () => {
  const db = await freshDatabase()
  const store = opened({ database: db.url })
  const options = { tenant: 'global' } as const
  await once(store, 'warm', () => 1, options)
  const blocker = await db.pool.connect()
  await blocker.query('begin')
  await blocker.query('lock table hookonce_key')
  let runs = 0
  const slow = once(store, 'one', () => ++runs, { ...options, storeTimeoutMs: 300 })
  await expect(slow).rejects.toMatchObject({ code: 'KEY_STORE_DOWN' })
  expect(runs).toBe(0)
  await blocker.query('commit')
  blocker.release()
  expect(await once(store, 'one', () => ++runs, { ...options, waitMs: 20_000 })).toBe(1)
})

test('on the wire a first request is two round trips, and a replay one', async () => {
  const db = await freshDatabase()
  const trips = await countRoundTrips(db.url)
  const store = opened({ database: trips.url, maxConnections: 1 })
  const app = await keyedServer((_request, response) => response.end('done'), { store })
  await app.post('warm')
  await app.post('warm')
  trips.taken()
  expect((await app.post('one')).status).toBe(200)
  expect(trips.taken()).toBe(2)
  expect((await app.post('one')).headers.get('idempotent-replayed')).toBe('true')
  expect(trips.taken()).toBe(1)
})
