import { describe, expect, onTestFinished, test } from 'vitest'
import {
  fenceLanes,
  fenceRuns,
  holdLanes,
  letGoOf,
  replaysOf,
  runsOf,
} from '../../../src/ledger/places/hold-tenant.ts'
import { markedPlace } from '../../../src/ledger/places/places.ts'
import { copyTenant } from '../../../src/ledger/places/tenant-rows.ts'
import { freshDatabase } from '../../support/database.ts'
import { idOf, LEASED, seededLedger } from '../../support/seeded-ledger.ts'
import { until } from '../../support/until.ts'

/* A tenant is moved while none of its runs is in flight: those that are left lose their lease. */

describe('a tenant that is held', () => {
  test('has the runs of its jobs that are processing, and they lose their lease', async () => {
    const { db, job, jobIs } = await seededLedger()
    const states = ['received', 'retrying', 'processed', 'failed', 'attention']
    for (const [index, state] of states.entries()) await job(index + 1, { state, fence: 3 })
    await job(9, LEASED)
    const others = 'select * from hookonce.job where receipt_id <> $1 order by receipt_id'
    const before = await db.rows(others, [idOf(9)])
    expect(await runsOf(db.pool, 'default')).toBe(1)
    await fenceRuns({ pool: db.pool, shards: 16 }, 'default')
    expect(await runsOf(db.pool, 'default')).toBe(0)
    expect(await jobIs(9, 'state', 'fence', 'worker')).toEqual({
      state: 'retrying',
      fence: '4',
      worker: null,
    })
    expect(await db.rows(others, [idOf(9)])).toEqual(before)
  })

  test('has lanes whose leases are lost, when they are held and when they are released', async () => {
    const { db, row, subscriber } = await seededLedger()
    await row('outbox_lane', { shard: 0, id: idOf(800), topic: 't', tail: 1, worker: 7, fence: 3 })
    await row('outbox', {
      shard: 0,
      id: idOf(1),
      lane: idOf(800),
      seq: 1,
      receipt_id: idOf(100),
      subscriber,
      tenant: 'default',
      topic: 't',
      payload: '{}',
      state: 'waiting',
    })
    await db.rows(`select setval('hookonce.outbox_fence', 100)`)
    const lane = 'select worker, fence::integer, due_at <= now() as due from hookonce.outbox_lane'
    expect(await holdLanes(db.pool, 'default')).toBe(1)
    await fenceLanes(db.pool, 'default')
    expect(await db.rows(lane)).toEqual([{ worker: null, fence: 101, due: false }])
    expect(await holdLanes(db.pool, 'default')).toBe(0)
    await letGoOf(db.pool, 'default')
    expect(await db.rows(lane)).toEqual([{ worker: null, fence: 102, due: true }])
  })

  test('waits only for replays that run', async () => {
    const { db, row } = await seededLedger()
    for (const state of ['running', 'done', 'cancelled'])
      await row('bulk_replay', {
        per_second: 1,
        state,
        name: state,
        actor: 'ada',
        why: 'a test',
        filter: '{}',
        position: '{}',
        expected: 1,
      })
    expect(await replaysOf(db.pool, 'default')).toBe(1)
  })
})

test('the place of a tenant is locked until its move has recorded the next one', async () => {
  const { row, inOpenTransaction, isLocked } = await seededLedger()
  await row('tenant_place', { tenant: 'default', ledger: 'one' })
  await inOpenTransaction((client) => markedPlace(client, 'default'))
  expect(await isLocked('tenant_place', `tenant = 'default'`)).toBe(true)
})

test('a small row is locked until its copy is committed', async () => {
  const { db, isLocked } = await seededLedger()
  const to = await freshDatabase()
  const client = await to.pool.connect()
  onTestFinished(() => client.release(true))
  await client.query('begin; lock table hookonce.source')
  const copied = copyTenant({
    from: db.pool,
    to: to.pool,
    shards: 16,
    tenant: 'default',
    beforeBatch: async () => undefined,
  })
  await until('the copy waits', async () => isWaiting(to))
  expect(await isLocked('source', `tenant = 'default'`)).toBe(true)
  await client.query('commit')
  await copied
  expect(await isLocked('source', `tenant = 'default'`)).toBe(false)
  expect(await to.number('select count(*) from hookonce.source')).toBe(1)
})

async function isWaiting({ number }: Awaited<ReturnType<typeof freshDatabase>>): Promise<boolean> {
  const waiting = await number(
    `select count(*) from pg_locks l join pg_stat_activity a using (pid)
     where a.datname = current_database() and not l.granted`,
  )
  return waiting > 0
}
