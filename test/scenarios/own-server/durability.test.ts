import { describe, expect, test } from 'vitest'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import type { TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { type OwnServer, ownServer } from '../../support/own-server.ts'
import { TEMPLATE } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

/*
 * Acknowledged deliveries and commits survive a power cut of the server, with any setting of
 * synchronous_commit by the database or a handler. The server writes its log only for commits that
 * wait for it.
 */
const EVENTS = 30

async function hastyServer(): Promise<OwnServer> {
  const server = await ownServer()
  await server.db.rows(`alter system set wal_writer_delay = '10s'`)
  await server.db.rows('select pg_reload_conf()')
  await server.db.rows(`alter database ${TEMPLATE} set synchronous_commit = off`)
  return server
}

async function cutPower(server: OwnServer): Promise<void> {
  await server.stop()
  await server.start()
  // The connections of the test break too.
  await until('the server answers', () => server.db.rows('select 1').catch(() => undefined))
}

async function deliverAll(hooks: TestHooks): Promise<void> {
  // One after the other: each is acknowledged by its own commit.
  for (let n = 0; n < EVENTS; n += 1) await deliver(hooks, { id: `evt_${n}`, type: 'a' })
}

const receipts = (db: TestDatabase): Promise<number> => db.number('select count(*) from hookonce.receipt')

describe('every acknowledged event is still there after a crash of a server with synchronous_commit = off:', () => {
  test.each(['on', 'off'] as const)('received without a worker, prepare: %s', async (prepare) => {
    const server = await hastyServer()
    const hooks = testHooks(server.db, { prepare }).on('test', '*', () => undefined)
    await deliverAll(hooks)
    await cutPower(server)
    expect(await receipts(server.db)).toBe(EVENTS)
    await hooks.stop()
  })

  test.each([
    ['born leased', {}],
    ['in order', { ordered: () => 'one' }],
  ])('%s', async (_, options) => {
    const server = await hastyServer()
    const hooks = testHooks(server.db, { prepare: 'off' })
    // Nothing is committed after the deliveries: the commit of a handler would also sync them.
    hooks.on(
      'test',
      '*',
      (_event, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      options,
    )
    await hooks.start()
    await deliverAll(hooks)
    await cutPower(server)
    expect(await receipts(server.db)).toBe(EVENTS)
    await hooks.stop({ drainMs: 0 })
  })

  test('after a handler has turned it off for the session of its write', async () => {
    const server = await hastyServer()
    await server.db.rows(
      `create function hurry() returns text language sql as $$ select set_config('synchronous_commit', 'off', false) $$`,
    )
    const hooks = testHooks(server.db).on('test', 'hurry', (_, ctx) => ctx.write({ text: 'select hurry()' }))
    hooks.on('test', 'a', () => undefined, { name: 'other' })
    await hooks.start()
    for (let n = 0; n < 9; n += 1) await deliver(hooks, { id: `hurry_${n}`, type: 'hurry' })
    await jobsAre(server.db, 'processed', 9)
    await hooks.pause('test')
    await deliverAll(hooks)
    await cutPower(server)
    expect(await receipts(server.db)).toBe(EVENTS + 9)
    await hooks.stop()
  })
})

const INSERT = `insert into effect (type) values ('a')`

describe('every commit that a handler got is still there after a crash of a server with synchronous_commit = off:', () => {
  test.each(['on', 'off'] as const)('ctx.write, prepare: %s', async (prepare) => {
    const server = await hastyServer()
    await server.db.rows(`create function hurry() returns trigger language plpgsql as $$
      begin perform set_config('synchronous_commit', 'off', true); return null; end $$;
      create constraint trigger hurry after insert on effect deferrable initially deferred
        for each row execute function hurry()`)
    const hooks = testHooks(server.db, { prepare }).on('test', '*', (_, ctx) => ctx.write({ text: INSERT }))
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await jobsAre(server.db, 'processed')
    await cutPower(server)
    expect(await server.db.number('select count(*) from effect')).toBe(1)
    await hooks.stop()
  })

  test.each(['on', 'off'] as const)('ctx.transaction that turns it off, prepare: %s', async (prepare) => {
    const server = await hastyServer()
    const hooks = testHooks(server.db, { prepare }).on('test', '*', (_, ctx) =>
      ctx.transaction(
        async (tx) => {
          await tx.query('set synchronous_commit = off')
          await tx.query(INSERT)
        },
        { last: true },
      ),
    )
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await jobsAre(server.db, 'processed')
    await cutPower(server)
    expect(await server.db.number('select count(*) from effect')).toBe(1)
    await hooks.stop()
  })

  test('the outcome of an effect', async () => {
    const server = await hastyServer()
    let isBack = (): void => undefined
    const back = new Promise<void>((resolve) => {
      isBack = resolve
    })
    const hooks = testHooks(server.db, { prepare: 'off' }).on('test', '*', async (_, ctx) => {
      await ctx.effect('once', () => 'done', { mode: 'atMostOnce' })
      await cutPower(server)
      isBack()
    })
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await back
    await jobsAre(server.db, 'processed')
    expect(await server.db.rows('select state::text as state from hookonce.effect')).toEqual([
      { state: 'done' },
    ])
    await hooks.stop()
  })
})

describe('a server with fsync = off', () => {
  async function unsafeServer(): Promise<OwnServer> {
    const server = await ownServer()
    await server.db.rows('alter system set fsync = off')
    await server.db.rows('select pg_reload_conf()')
    await until('fsync is off', () => server.db.number(`select (current_setting('fsync') = 'off')::integer`))
    return server
  }

  test('is refused before anything is written to it', async () => {
    const { db } = await unsafeServer()
    await db.rows('drop schema hookonce cascade')
    const hooks = testHooks(db, { durability: 'required' }).on('test', '*', () => undefined)
    await expect(hooks.start()).rejects.toThrow(
      /^SERVER_NOT_DURABLE: the server runs with fsync = off, .+durability: 'unsafe'/,
    )
    expect(await db.rows(`select to_regnamespace('hookonce') as schema`)).toEqual([{ schema: null }])
  })

  test("is accepted with durability: 'unsafe'", async () => {
    const { db } = await unsafeServer()
    const hooks = testHooks(db, { durability: 'unsafe' }).on('test', '*', () => undefined)
    await hooks.start()
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await jobsAre(db, 'processed')
    await hooks.stop()
  })

  test('is refused by the gateway, unless it is asked for', async () => {
    const { db } = await unsafeServer()
    const env = { DATABASE_URL: db.url, HOOKONCE_DURABILITY: '' }
    const refused = await cli(['dev', '--port', '0', '--dir', temporaryDirectory()], env)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('SERVER_NOT_DURABLE') })
    const dev = startCli(['dev', '--port', '0', '--json', '--dir', temporaryDirectory()], {
      ...env,
      HOOKONCE_DURABILITY: 'unsafe',
    })
    await dev.line('port')
    expect(await dev.stop()).toBe(0)
  })
})
