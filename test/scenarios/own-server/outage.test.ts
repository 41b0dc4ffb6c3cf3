import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { hookonce } from '../../../src/index.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { startApp } from '../../support/app.ts'
import { ownServer } from '../../support/own-server.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'
import { sendOn } from '../../support/sender.ts'
import { testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

// Uses its own server: other tests use the shared servers.
test('the database fails and recovers under load: acknowledged events exist once and are processed', async () => {
  const server = await ownServer()
  const { db } = server
  const app = await startApp(db, {
    options: { leaseMs: 6_000, pollMs: 50, retry: { baseDelayMs: 50, maxDelayMs: 200 } },
  })
  const sender = sendOn(app.send)
  await until('events are accepted', () => sender.acknowledged.size > 50)
  await server.stop()
  await until('the sender is told to come back', () => sender.statuses.includes(503))
  const during = sender.acknowledged.size
  await server.start()
  await until('events are accepted again', () => sender.acknowledged.size > during + 50)
  await sender.stop()

  expect(new Set(sender.statuses)).toEqual(new Set([202, 503]))
  // Leases of commits whose reply was lost in the outage are ignored for half a minute: moves the
  // clock.
  await db.pool.query(
    `update hookonce.job set started_at = started_at - interval '1 minute' where state = 'processing'`,
  )
  await until('all work is done', async () => {
    const open = await db.number(`select count(*) from hookonce.job where state <> 'processed'`)
    return open === 0
  })
  expect(app.process.exitCode).toBeNull()
  const keys = (await db.rows<{ event_key: string }>('select event_key from hookonce.receipt')).map(
    (row) => row.event_key,
  )
  expect(new Set(keys).size).toBe(keys.length)
  expect([...sender.acknowledged].filter((key) => !keys.includes(key))).toEqual([])
  // One job per event, and one effect per job. A lost reply may have repeated the app's own effect.
  expect(await db.number('select count(*) from hookonce.job')).toBe(keys.length)
  expect(await db.number('select count(distinct receipt_id) from effect')).toBe(keys.length)
  app.kill('SIGTERM')
  expect(await app.exited()).toBe(0)
})

test('an outage longer than the lease makes no process dead, and no job a suspect', async () => {
  const { db, stop, start } = await ownServer()
  const leaseMs = 6_000
  const apps = [await startApp(db, { options: { leaseMs } }), await startApp(db, { options: { leaseMs } })]
  for (const [n, app] of apps.entries()) {
    await app.send({ id: `evt_${n}`, type: 'hangfirst.a' })
    await app.says('hanging')
  }
  await stop()
  await delay(leaseMs + 2_000)
  // The other process is back first, and looks for dead workers before this one can renew its
  // lease.
  const [first, second] = apps
  second?.kill('SIGSTOP')
  await start()
  const leaseOf = (pid: number | undefined): Promise<number> =>
    db.number('select extract(epoch from max(lease_until)) from hookonce.worker where pid = $1', [pid])
  for (let beat = 1; beat <= 2; beat += 1) {
    const before = await until('the ledger answers', () => leaseOf(first?.pid).catch(() => 0))
    await until('a heartbeat', async () => (await leaseOf(first?.pid)) > before)
  }
  const before = await leaseOf(second?.pid)
  second?.kill('SIGCONT')
  await until('it renews its lease', async () => (await leaseOf(second?.pid)) > before)

  expect(await db.rows('select pid from hookonce.worker where dead_at is not null')).toEqual([])
  expect(await db.number('select sum(crashes) from hookonce.job')).toBe(0)
  expect(await db.number(`select count(*) from hookonce.attempt where outcome = 'crashed'`)).toBe(0)
})

/*
 * A claim does not wait for the disk, so a crash of the server can undo it, and the next claim
 * raises the same fence.
 */
test('of two runs whose claims a crash made equal, one is settled', async () => {
  const server = await ownServer()
  const { db } = server
  await db.pool.query("alter system set wal_writer_delay = '10s'")
  await db.pool.query('select pg_reload_conf()')
  const subscriber = await seedJobs(db, 1, { shard: 0 })
  const [first, second] = [await seedWorker(db), await seedWorker(db)]
  await db.pool.query('checkpoint')
  const claimFor = (worker: number) =>
    claimJobs(db.pool, { shard: 0, worker, slots: new Map([[subscriber, 1]]) })

  const [before] = await claimFor(first)
  await server.stop()
  await server.start()
  const after = await until('the job is due again', async () => {
    const [job] = await claimFor(second).catch(() => [])
    return job
  })

  if (!before) throw new Error('the job was not claimed')
  expect(after.fence).toBe(before.fence)
  const settled = [
    await settleJobs(db.pool, [settlement(before, 'processed')]),
    await settleJobs(db.pool, [settlement(after, 'processed')]),
  ].flat()
  expect(settled.filter(Boolean)).toHaveLength(1)
  expect(await db.rows('select state, attempt from hookonce.job')).toEqual([
    { state: 'processed', attempt: 1 },
  ])
})

test('a pool with a separate password is enough to reach the ledger', async () => {
  const { db } = await ownServer()
  const [found] = await db.rows<{ hba_file: string }>(`select current_setting('hba_file') as hba_file`)
  await db.pool.query(`create role guarded superuser login password 'p@ss'`)
  await db.pool.query(
    `copy (values ('host all guarded 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) to '${found?.hba_file}'`,
  )
  await db.pool.query('select pg_reload_conf()')
  const { hostname: host, port, pathname } = new URL(db.url)
  const database = new pg.Pool({
    host,
    port: Number(port),
    database: pathname.slice(1),
    user: 'guarded',
    password: 'p@ss',
  })
  const hooks = hookonce({ database, sources: { test: testSource() } }).on('test', '*', () => undefined)
  expect((await hooks.ledger('test')).shards).toBeGreaterThan(0)
  await hooks.stop()
  await database.end()
})
