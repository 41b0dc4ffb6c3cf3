import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import type { Finding } from '../../../src/operate/doctor/diagnose.ts'
import { cli, type Ran } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { ledgerOfVersion, MIGRATION_FILES, NEWEST } from '../../support/old-schema.ts'
import { type OwnServer, ownServer } from '../../support/own-server.ts'
import { pooled } from '../../support/pgbouncer.ts'
import { seedJobs } from '../../support/seed.ts'
import { makeCluster } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

/* Each fault is real: the doctor runs as a process against a server that has it. */

interface Examined {
  readonly ran: Ran
  finding(check: string): Finding | undefined
}

async function examine(url: string, args: readonly string[] = [], env = {}): Promise<Examined> {
  const ran = await cli(['doctor', '--json', '--port', '0', '--admin-port', '0', ...args], {
    DATABASE_URL: url,
    ...env,
  })
  const findings = ran.json<Finding[]>()
  return { ran, finding: (check) => findings.find((one) => one.check === check) }
}

async function set(server: OwnServer, setting: string, value: string): Promise<void> {
  await server.db.rows(`alter system set ${setting} = '${value}'`)
  await server.db.rows('select pg_reload_conf()')
  await until(`${setting} is ${value}`, async () => {
    const [row] = await server.db.rows<{ value: string }>(`select current_setting('${setting}') as value`)
    return row?.value === value
  })
}

/** A separate role, and the URL that uses it. */
async function roleOn(
  db: { url: string; pool: pg.Pool },
  options = '',
): Promise<{ role: string; url: string }> {
  const role = `doctor_${Math.random().toString(16).slice(2, 10)}`
  await db.pool.query(`create role ${role} login password 'only for this test' ${options}`)
  onTestFinished(async () => {
    await db.pool.query(`drop owned by ${role}`)
    await db.pool.query(`drop role ${role}`)
  })
  const url = new URL(db.url)
  url.username = role
  url.password = 'only for this test'
  return { role, url: url.toString() }
}

const ALL_TABLES = 'select, insert, update, delete on all tables in schema hookonce'

describe('the doctor on a server', () => {
  test('finds nothing wrong with a sound one, and ends with 0', async () => {
    const { db } = await ownServer()
    const { role, url } = await roleOn(db)
    await db.rows(`grant usage on schema hookonce to ${role}`)
    await db.rows(`grant ${ALL_TABLES} to ${role}`)
    await db.rows(`grant usage on all sequences in schema hookonce to ${role}`)
    const { ran } = await examine(url)
    const findings = ran.json<Finding[]>()
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([])
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    const checks = findings.map(({ check }) => check)
    for (const check of [
      'database version primary fsync full_page_writes synchronous_commit standby shared_buffers max_wal_size',
      'pooler connections clock rights schema lag failures horizon vacuum disk',
    ].flatMap((words) => words.split(' ')))
      expect(checks).toContain(check)
    expect(
      await db.number(`select count(*) from pg_stat_activity where application_name = 'hookonce doctor'`),
    ).toBe(0)
  })

  test('names settings that lose data, and ends with 1', async () => {
    const server = await ownServer()
    await set(server, 'fsync', 'off')
    await set(server, 'full_page_writes', 'off')
    await set(server, 'synchronous_commit', 'off')
    await set(server, 'autovacuum', 'off')
    const { ran, finding } = await examine(server.db.url)
    expect(ran.code).toBe(1)
    expect(finding('fsync')).toMatchObject({ level: 'fail', seen: 'fsync = off' })
    expect(finding('full_page_writes')).toMatchObject({ level: 'warn' })
    expect(finding('synchronous_commit')).toMatchObject({ level: 'warn' })
    expect(finding('vacuum')).toMatchObject({
      level: 'warn',
      seen: expect.stringContaining('autovacuum = off'),
    })
    expect(finding('rights')).toMatchObject({ level: 'warn', seen: expect.stringContaining('superuser') })
  })

  test('names settings that are too small for the ledger', async () => {
    const server = await ownServer()
    await server.db.rows(`alter system set shared_buffers = '16MB'`)
    await server.db.rows(`alter system set max_wal_size = '128MB'`)
    await server.stop()
    await server.start()
    await until('the server answers', () => server.db.rows('select 1').catch(() => undefined))
    const { finding } = await examine(server.db.url)
    expect(finding('shared_buffers')).toMatchObject({
      level: 'warn',
      seen: expect.stringContaining('shared_buffers = 16 MB'),
      advice: expect.stringContaining('128 MB'),
    })
    expect(finding('max_wal_size')).toMatchObject({
      level: 'warn',
      seen: expect.stringContaining('max_wal_size = 128 MB'),
      advice: expect.stringContaining('1 GB'),
    })
  })

  test('reports a standby, which cannot record anything, and on its primary what a failover may lose', async () => {
    const server = await ownServer()
    const { db } = server
    const standby = await makeCluster({ primaryUrl: db.url })
    standby.start()
    onTestFinished(() => {
      standby.stop()
      standby.remove()
    })
    const url = new URL(standby.url)
    url.pathname = new URL(db.url).pathname
    const { ran, finding } = await examine(url.toString())
    expect(ran.code).toBe(1)
    expect(finding('primary')).toMatchObject({ level: 'fail', seen: 'the server is a standby' })

    const streaming = `select count(*) from pg_stat_replication where state = 'streaming'`
    await until('the standby follows', () => db.number(streaming))
    expect((await examine(db.url)).finding('standby')).toMatchObject({
      level: 'warn',
      seen: expect.stringMatching(/^1 standby is asynchronous, up to .* behind$/),
      advice: expect.stringContaining('loses acknowledged events'),
    })
    await set(server, 'synchronous_standby_names', '*')
    await until('it is synchronous', () =>
      db.number(`select count(*) from pg_stat_replication where sync_state = 'sync'`),
    )
    expect((await examine(db.url)).finding('standby')).toMatchObject({ level: 'ok' })
    await set(server, 'synchronous_commit', 'local')
    expect((await examine(db.url)).finding('standby')).toMatchObject({
      level: 'warn',
      seen: expect.stringContaining('synchronous_commit = local'),
    })
  })

  test('names a transaction that stays open, and one that is prepared', async () => {
    const server = await ownServer()
    await server.db.rows('alter system set max_prepared_transactions = 5')
    await server.stop()
    await server.start()
    await until('the server answers', () => server.db.rows('select 1').catch(() => undefined))
    const client = await server.db.pool.connect()
    onTestFinished(() => client.release(true))
    await client.query(`begin; insert into effect (type) values ('a'); prepare transaction 'left behind'`)
    await client.query('begin')
    const { rows } = await client.query('select pg_backend_pid() as pid, txid_current()')
    const { ran, finding } = await examine(server.db.url, ['--max-transaction', '0s'])
    expect(ran.code).toBe(1)
    const horizon = finding('horizon')
    expect(horizon?.seen).toContain(`pid ${rows[0].pid} (hookonce, idle in transaction)`)
    expect(horizon?.seen).toContain('"left behind" has been prepared')
    expect(horizon?.advice).toContain(`pg_terminate_backend(${rows[0].pid})`)
    expect(horizon?.advice).toContain(`rollback prepared 'left behind'`)
    expect((await examine(server.db.url)).finding('horizon')).toMatchObject({ level: 'ok' })
  })
})

describe('the doctor on the way to a server', () => {
  test.each([
    ['session', [], 'ok', 'session mode'],
    ['transaction', [], 'warn', 'transaction mode'],
    ['transaction', ['--pooler'], 'ok', 'as expected'],
    ['statement', [], 'fail', 'statement mode'],
  ] as const)('finds a pooler in %s mode, with %j: %s', async (mode, args, level, seen) => {
    const { url } = await freshDatabase()
    const { finding } = await examine(await pooled(url, mode), args)
    expect(finding('pooler')).toMatchObject({ level, seen: expect.stringContaining(seen) })
    expect(finding('schema')).toMatchObject({ level: 'ok' })
  })

  test('measures the clock of this machine against that of the database', async () => {
    const { url } = await freshDatabase()
    const clock = new URL('../../support/skewed-clock.mjs', import.meta.url).href
    const skewed = (ms: number) =>
      examine(url, [], { NODE_OPTIONS: `--import ${clock}`, SKEW_MS: String(ms) })
    expect((await skewed(0)).finding('clock')).toMatchObject({ level: 'ok' })
    const ahead = await skewed(30_000)
    expect(ahead.finding('clock')).toMatchObject({
      level: 'warn',
      seen: expect.stringMatching(/(29|30)\.\d s ahead of/),
    })
    const behind = await skewed(-600_000)
    expect(behind.ran.code).toBe(1)
    expect(behind.finding('clock')).toMatchObject({
      level: 'fail',
      seen: expect.stringContaining(' s behind that'),
    })
  })

  test('counts the connections of all processes', async () => {
    const db = await freshDatabase()
    const allowed = await db.number(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`,
    )
    const many = await examine(db.url, ['--workers', '50'])
    expect(many.finding('connections')).toMatchObject({
      level: 'fail',
      seen: expect.stringContaining(`50 processes open up to 1550; ${allowed} are allowed`),
    })
    const { url } = await roleOn(db, 'superuser connection limit 5')
    const limited = await examine(url)
    expect(limited.finding('connections')).toMatchObject({
      level: 'fail',
      seen: expect.stringContaining('5 are allowed'),
    })
  })
})

describe('the doctor on a ledger', () => {
  test('lists the missing migrations', async () => {
    const db = await ledgerOfVersion(NEWEST - 2)
    const { ran, finding } = await examine(db.url)
    expect(ran.code).toBe(1)
    const names = MIGRATION_FILES.slice(-2).map((file) => file.replace('.sql', ''))
    expect(finding('schema')).toMatchObject({
      level: 'fail',
      seen: expect.stringContaining(names.join(', ')),
    })
    expect(finding('lag')).toBeUndefined()
  })

  test('finds a database without a ledger', async () => {
    const db = await freshDatabase()
    await db.rows('drop schema hookonce cascade')
    const { ran, finding } = await examine(db.url)
    expect(ran.code).toBe(1)
    expect(finding('rights')).toMatchObject({ level: 'warn', advice: 'run `hookonce migrate`' })
    expect(finding('schema')).toMatchObject({ level: 'fail' })
    expect(await db.rows(`select to_regnamespace('hookonce') as schema`)).toEqual([{ schema: null }])
    await migrate(db.pool)
  })

  test('names the rights that a role lacks', async () => {
    const db = await freshDatabase()
    const { role, url } = await roleOn(db)
    const without = await examine(url)
    expect(without.finding('rights')).toMatchObject({
      level: 'fail',
      advice: expect.stringContaining(`grant usage on schema "hookonce" to "${role}"`),
    })
    expect(without.ran.code).toBe(1)
    await db.rows(`grant usage on schema hookonce to ${role}`)
    await db.rows(`grant ${ALL_TABLES} to ${role}`)
    await db.rows(`grant usage on all sequences in schema hookonce to ${role}`)
    await db.rows(`revoke insert, update on hookonce.job from ${role}`)
    const lacking = await examine(url)
    expect(lacking.finding('rights')).toMatchObject({
      level: 'fail',
      seen: `the role "${role}" lacks insert, update on job`,
    })
    await db.rows(`grant insert, update on hookonce.job to ${role}`)
    // The privileges of docs/reference/database-role.md.
    await db.rows(`revoke insert, update, delete on hookonce.migration, hookonce.setting from ${role}`)
    expect((await examine(url)).finding('rights')).toMatchObject({ level: 'ok' })
  })

  test('reports jobs that no worker runs, and failures', async () => {
    const db = await freshDatabase()
    const hooks = testHooks(db).on('test', '*', () => undefined)
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await deliver(hooks, { id: 'evt_2', type: 'a' })
    expect((await examine(db.url)).finding('lag')).toMatchObject({ level: 'ok' })
    const [first] = await db.rows<{ id: string }>('select receipt_id as id from hookonce.job limit 1')
    await db.rows(`update hookonce.job set due_at = now() - interval '2 hours' where receipt_id = $1`, [
      first?.id,
    ])
    await db.rows(
      `update hookonce.job set state = 'failed', finished_at = now(), reason = 'x' where receipt_id <> $1`,
      [first?.id],
    )
    const { ran, finding } = await examine(db.url)
    expect(ran.code).toBe(1)
    expect(finding('lag')).toMatchObject({
      level: 'fail',
      seen: '1 job waits, the oldest has been due for 2 h; 0 workers run',
      advice: expect.stringContaining('start a worker'),
    })
    expect(finding('failures')).toMatchObject({ level: 'warn', seen: '1 failed, 0 need attention' })
  })

  test('names a table without autovacuum', async () => {
    const db = await freshDatabase()
    await db.rows('alter table hookonce.job set (autovacuum_enabled = false)')
    const { finding } = await examine(db.url)
    await db.rows('alter table hookonce.job reset (autovacuum_enabled)')
    expect(finding('vacuum')).toMatchObject({ level: 'warn', seen: 'autovacuum is off for job' })
  })

  test('names a table with many dead rows', async () => {
    const db = await freshDatabase()
    // Autovacuum stays on, but never begins here.
    await db.rows('alter table hookonce.job set (autovacuum_vacuum_threshold = 2000000000)')
    await seedJobs(db, 60_000, { state: 'processed' })
    await db.rows('delete from hookonce.job')
    await until('the server has counted the dead rows', () =>
      db.number(`select count(*) from pg_stat_all_tables
        where schemaname = 'hookonce' and relname = 'job' and n_dead_tup >= 60000`),
    )
    const { finding } = await examine(db.url)
    await db.rows('alter table hookonce.job reset (autovacuum_vacuum_threshold)')
    expect(finding('vacuum')).toMatchObject({
      level: 'warn',
      seen: 'job has 60000 dead rows and 0 live ones',
      advice: expect.stringContaining('run `vacuum` on these tables'),
    })
  })

  test('stops a check that waits for a lock, and continues', async () => {
    const db = await freshDatabase()
    const client = await db.pool.connect()
    onTestFinished(() => client.release())
    await client.query('begin; lock table hookonce.job in access exclusive mode')
    const { finding } = await examine(db.url)
    await client.query('rollback')
    expect(finding('lag')).toMatchObject({ level: 'warn', seen: 'no answer within 5 s' })
    expect(finding('horizon')).toMatchObject({ level: 'ok' })
  })
})
