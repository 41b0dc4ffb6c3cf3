import { expect, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import { inTransaction } from '../../../src/ledger/driver/in-transaction.ts'
import { connectionsPerProcess } from '../../../src/ledger/ledger.ts'
import { isSet } from '../../../src/ledger/ledger-set.ts'
import { markedPlace, replacePlace, replacePlaceIn } from '../../../src/ledger/places/places.ts'
import { sweepBodies } from '../../../src/ledger/receipts/retention.ts'
import { type MoveStep, moveTenant } from '../../../src/operate/move-tenant.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { fleetHooks } from '../../support/fleet.ts'
import {
  type CountedHooks,
  counting,
  deliverUntilAccepted,
  dieAt,
  MOVE_REASON,
  movingLoad,
  onceEach,
  processedIn,
  rowsOf,
} from '../../support/moving.ts'
import { until } from '../../support/until.ts'

test('a tenant moves while it works: no effect is lost, and none happens twice', async () => {
  const db = await freshDatabase()
  const { hooks, effects, published, set } = await counting(db)
  const load = movingLoad(hooks)
  await until('many took effect', () => effects.size > 80)
  // Blocks the move while it copies, until deliveries are refused.
  const holding = await db.pool.connect()
  await holding.query('begin; lock table hookonce_2.receipt')
  const moving = moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, MOVE_REASON)
  await until('a delivery is refused', () => load.refusals > 0)
  await holding.query('commit')
  holding.release()
  expect(await moving).toEqual({ tenant: 'alpha', from: 'hookonce_1', to: 'hookonce_2' })
  const moved = load.keys.length
  await until('more are accepted there', () => load.keys.length > moved + 20)
  await load.stop()
  const { keys } = load
  await until('all are processed there', async () => (await processedIn(db, 'hookonce_2')) === keys.length)
  await until('all were published', () => published.size === 2 * keys.length)

  expect([...effects].sort()).toEqual(onceEach(keys))
  expect([...published].sort()).toEqual(onceEach(keys))
  expect(await rowsOf(db, 'hookonce_1', 'alpha')).toBe(0)
  expect(await rowsOf(db, 'hookonce_1', 'beta')).toBeGreaterThan(keys.length)
  const places = await db.rows(
    `select ledger, moving_to, moved_from from hookonce_0.tenant_place where tenant = 'alpha'`,
  )
  expect(places).toEqual([{ ledger: 'hookonce_2', moving_to: null, moved_from: null }])
  // The old ledger itself refuses a process that has not noticed the move.
  await expect(
    db.rows(`insert into hookonce_1.receipt (id, shard, secret, tenant, source, event_key, event_type)
      values (gen_random_uuid(), 1, 1, 'alpha', 'alpha', 'late', 'x')`),
  ).rejects.toThrow('lives in another ledger')
})

test('a move copies large bodies in small batches', async () => {
  const db = await freshDatabase()
  const { set } = await counting(db)
  await db.rows(
    `insert into hookonce_1.receipt (id, shard, secret, tenant, source, event_key, event_type, body)
     select gen_random_uuid(), 1, 1, 'alpha', 'alpha', n, 'x', decode(repeat('ab', 4194304), 'hex')
     from generate_series(1, 9) n`,
  )
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, MOVE_REASON)
  // Each batch is one transaction: 16 MiB have room for four bodies of 4 MiB.
  const copied = await db.rows<{ rows: number; whole: boolean }>(
    `select count(*)::int as rows, bool_and(octet_length(body) = 4194304) as whole
     from hookonce_2.receipt where tenant = 'alpha' group by xmin::text order by 1`,
  )
  expect(copied).toEqual([1, 4, 4].map((rows) => ({ rows, whole: true })))
  expect(await rowsOf(db, 'hookonce_1', 'alpha')).toBe(0)
})

test('behind a pooler, the audit of a move waits for the disk, whatever the role does', async () => {
  const db = await freshDatabase()
  const name = new URL(db.url).pathname.slice(1)
  await db.rows(`alter database ${name} set synchronous_commit = off`)
  const { set } = await counting(db, { prepare: 'off' })
  await db.pool.query(`create function see() returns trigger language plpgsql as $$ begin
      new.why := current_setting('synchronous_commit');
      return new;
    end $$;
    create trigger see before insert on hookonce_2.audit for each row execute function see()`)
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, MOVE_REASON)
  expect(await db.rows('select action, why from hookonce_2.audit')).toEqual([
    { action: 'move-tenant', why: 'on' },
  ])
})

test('an old body that a move brings is swept in the new ledger', async () => {
  const db = await freshDatabase()
  const { set } = await counting(db)
  await db.rows(
    `insert into hookonce_1.receipt (id, shard, secret, tenant, source, event_key, event_type, body, received_at)
     values (gen_random_uuid(), 1, 1, 'alpha', 'alpha', 'old', 'x', 'text', now() - interval '60 days')`,
  )
  // There, the sweeps have passed the age of this body.
  await db.rows(
    `insert into hookonce_2.sweep (shard, bodies_swept_to) values (1, now() - interval '40 days')`,
  )
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, MOVE_REASON)
  const target = await set.members.find(({ name }) => name === 'hookonce_2')?.tables()
  if (!target) throw new Error('hookonce_2 is missing')
  await sweepBodies(target.pool, 1, 10)
  expect(await db.rows(`select body from hookonce_2.receipt where event_key = 'old'`)).toEqual([
    { body: null },
  ])
})

test('a move that dies at any step continues when it is started again', async () => {
  const db = await freshDatabase()
  const { hooks, effects, set } = await counting(db)
  let expected = 0
  let at = 'hookonce_1'
  for (const step of ['draining', 'copying', 'switching', 'deleting'] as const) {
    for (let n = 0; n < 5; n += 1) await deliverUntilAccepted(hooks, 'alpha', `${step}_${n}`)
    expected += 5
    await until('they are processed', async () => (await processedIn(db, at)) === expected)
    const to = at === 'hookonce_1' ? 'hookonce_2' : 'hookonce_1'
    await dieAt(set, to, step)
    const move = { tenant: 'alpha', to }
    expect(await moveTenant(set, move, MOVE_REASON)).toEqual({ tenant: 'alpha', from: at, to })
    expect(await processedIn(db, to)).toBe(expected)
    expect(await rowsOf(db, at, 'alpha')).toBe(0)
    at = to
  }
  // A known event is a duplicate in every ledger in which the tenant has lived.
  await deliverUntilAccepted(hooks, 'alpha', 'draining_0')
  await deliverUntilAccepted(hooks, 'alpha', 'last')
  await until('the last one is processed', async () => (await processedIn(db, at)) === expected + 1)
  expect([...effects.values()].every((count) => count === 1)).toBe(true)
  expect(effects.size).toBe(expected + 1)
})

/** Alpha lives in hookonce_1, with processed events, and its move to hookonce_2 was interrupted. */
async function interruptedAt(step: MoveStep): Promise<CountedHooks & { readonly db: TestDatabase }> {
  const db = await freshDatabase()
  const counted = await counting(db)
  for (const id of ['evt_1', 'evt_2']) await deliverUntilAccepted(counted.hooks, 'alpha', id)
  await until('they are processed', async () => (await processedIn(db, 'hookonce_1')) === 2)
  await dieAt(counted.set, 'hookonce_2', step)
  return { db, ...counted }
}

function recordOf(db: TestDatabase): Promise<unknown[]> {
  return db.rows(`select ledger, moving_to, moved_from from hookonce_0.tenant_place where tenant = 'alpha'`)
}

const livesIn = (ledger: string): unknown[] => [{ ledger, moving_to: null, moved_from: null }]

test.each(['draining', 'switching', 'deleting'] as const)(
  'a move that died while %s may continue to another ledger, and leaves no copy',
  async (step) => {
    const { db, hooks, effects, set } = await interruptedAt(step)
    const from = step === 'deleting' ? 'hookonce_2' : 'hookonce_1'
    const move = { tenant: 'alpha', to: 'hookonce_0' }
    expect(await moveTenant(set, move, MOVE_REASON)).toEqual({ ...move, from })
    expect(await recordOf(db)).toEqual(livesIn('hookonce_0'))
    expect(await rowsOf(db, 'hookonce_1', 'alpha')).toBe(0)
    expect(await rowsOf(db, 'hookonce_2', 'alpha')).toBe(0)
    expect(await processedIn(db, 'hookonce_0')).toBe(2)

    for (const id of ['evt_1', 'evt_3']) await deliverUntilAccepted(hooks, 'alpha', id)
    await until('the new one is processed', async () => (await processedIn(db, 'hookonce_0')) === 3)
    expect([...effects.values()]).toEqual([1, 1, 1])
  },
)

test.each(['draining', 'switching'] as const)(
  'a move that died while %s is cancelled by a move to the old ledger',
  async (step) => {
    const { db, hooks, effects, set } = await interruptedAt(step)
    const back = { tenant: 'alpha', to: 'hookonce_1' }
    const cancelled = { ...back, from: 'hookonce_1', cancelled: 'hookonce_2' }
    expect(await moveTenant(set, back, MOVE_REASON)).toEqual(cancelled)
    expect(await recordOf(db)).toEqual(livesIn('hookonce_1'))
    expect(await rowsOf(db, 'hookonce_2', 'alpha')).toBe(0)

    for (const id of ['evt_1', 'evt_3']) await deliverUntilAccepted(hooks, 'alpha', id)
    await until('the new one is processed', async () => (await processedIn(db, 'hookonce_1')) === 3)
    expect([...effects.values()]).toEqual([1, 1, 1])
    await expect(moveTenant(set, back, MOVE_REASON)).rejects.toThrow('already lives in')
  },
)

test('a move that is cancelled while it copies ends, and leaves no copy', async () => {
  const { db, hooks, set } = await interruptedAt('draining')
  // Blocks both commands at the rows of the copy.
  const holding = await db.pool.connect()
  await holding.query('begin; lock table hookonce_2.receipt')
  const steps: string[] = []
  const onStep = (step: string): void => void steps.push(step)
  const moving = moveTenant(set, { tenant: 'alpha', to: 'hookonce_2', onStep }, MOVE_REASON)
  const ending = expect(moving).rejects.toThrow('another command has continued or cancelled the move')
  await until('it copies', () => steps.includes('copying'))
  const cancelling = moveTenant(set, { tenant: 'alpha', to: 'hookonce_1' }, MOVE_REASON)
  const isCancelled = `select count(*) from hookonce_0.tenant_place where moved_from = 'hookonce_2'`
  await until('the cancellation is recorded', () => db.number(isCancelled))
  await holding.query('commit')
  holding.release()
  expect(await cancelling).toMatchObject({ cancelled: 'hookonce_2' })
  await ending

  expect(await recordOf(db)).toEqual(livesIn('hookonce_1'))
  expect(await rowsOf(db, 'hookonce_2', 'alpha')).toBe(0)
  await deliverUntilAccepted(hooks, 'alpha', 'evt_3')
  await until('it is processed', async () => (await processedIn(db, 'hookonce_1')) === 3)
})

test('of two commands that change the same place at once, the second one fails', async () => {
  const db = await freshDatabase()
  const { set } = await counting(db)
  const home = await set.members[0]?.tables()
  const read = home && (await markedPlace(home.pool, 'alpha'))
  if (!read) throw new Error('the place of alpha is missing')
  const waiting = `select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%tenant_place%'`
  let second: Promise<unknown> | undefined
  await inTransaction(home.pool, async (client) => {
    await replacePlaceIn(client, read, { ledger: 'hookonce_1', movingTo: 'hookonce_0' })
    second = expect(replacePlace(home.pool, read, { ledger: 'hookonce_2' })).rejects.toThrow(
      'another command',
    )
    await until('the second command waits', () => db.number(waiting))
    await client.query('commit')
  })
  await second
  expect(await recordOf(db)).toEqual([{ ledger: 'hookonce_1', moving_to: 'hookonce_0', moved_from: null }])
})

test('a ledger keeps one engine and a bounded number of connections when tenants arrive', async () => {
  const db = await freshDatabase()
  const tenants = ['alpha', 'beta', 'gamma', 'delta']
  const places = Object.fromEntries(tenants.map((tenant) => [tenant, 'hookonce_1']))
  const handled: string[] = []
  const hooks = fleetHooks(db, tenants, { ledgers: { count: 3, tenants: places } })
  for (const tenant of tenants) hooks.on(tenant, '*', ({ key }) => void handled.push(`${tenant} ${key}`))
  await hooks.start()
  const set = await operatorsOf(hooks)
  if (!isSet(set)) throw new Error('there is only one ledger')

  let most = 0
  async function deliverAll(id: string): Promise<void> {
    await Promise.all(tenants.map((tenant) => deliverUntilAccepted(hooks, tenant, id)))
    const open = await db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'hookonce'`,
    )
    most = Math.max(most, open)
  }
  const workersOf = (ledger: string): Promise<number> =>
    db.number(`select count(*) from ${ledger}.worker where dead_at is null and lease_until > now()`)

  await deliverAll('before')
  for (const tenant of tenants) {
    await moveTenant(set, { tenant, to: 'hookonce_2' }, MOVE_REASON)
    await deliverAll(`moved_${tenant}`)
  }
  await until('one engine works there', async () => (await workersOf('hookonce_2')) === 1)
  await until('none is left here', async () => (await workersOf('hookonce_1')) === 0)
  await deliverAll('after')
  expect(most).toBeLessThanOrEqual(connectionsPerProcess(4, 3))
  const ids = ['before', ...tenants.map((tenant) => `moved_${tenant}`), 'after']
  const expected = tenants.flatMap((tenant) => ids.map((id) => `${tenant} ${id}`))
  await until('all ran', () => handled.length === expected.length)
  expect(handled.sort()).toEqual(expected.sort())
  // The counters of the replaced engines remain.
  const received = [...(await hooks.metrics()).matchAll(/^hookonce_received_total{.*} (\d+)$/gm)]
  expect(received.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(expected.length)
})

test('a stop hands back the runs of an engine that was replaced before', async () => {
  const db = await freshDatabase()
  const tenants = { alpha: 'hookonce_1', beta: 'hookonce_2' }
  const hooks = fleetHooks(db, Object.keys(tenants), { ledgers: { count: 3, tenants } })
  const handled: string[] = []
  hooks.on('alpha', '*', ({ key }) => void handled.push(key))
  hooks.on('beta', '*', async ({ key }) => {
    handled.push(key)
    if (key === 'hangs') await new Promise(() => undefined)
  })
  await hooks.start()
  await deliverUntilAccepted(hooks, 'beta', 'hangs')
  await until('it hangs', () => handled.includes('hangs'))
  const set = await operatorsOf(hooks)
  if (!isSet(set)) throw new Error('there is only one ledger')
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, MOVE_REASON)
  // The arriving tenant gets a new engine there, which also takes over beta.
  await deliverUntilAccepted(hooks, 'alpha', 'arrived')
  await until('the new engine works', () => handled.includes('arrived'))
  const job = `select j.state::text, j.attempt, j.crashes, j.worker from hookonce_2.job j
    join hookonce_2.receipt r on r.shard = j.shard and r.id = j.receipt_id where r.event_key = 'hangs'`
  expect(await db.rows(job)).toMatchObject([{ state: 'processing', attempt: 1 }])

  await hooks.stop({ drainMs: 100 })
  expect(await db.rows(job)).toEqual([{ state: 'received', attempt: 0, crashes: 0, worker: null }])
  expect(await db.number('select count(*) from hookonce_2.worker where dead_at is null')).toBe(0)
})
