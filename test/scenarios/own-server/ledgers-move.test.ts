import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../../src/ledger/ledger.ts'
import { ledgersAtFirstUse } from '../../../src/ledger/ledgers-at-first-use.ts'
import { forgetTenant } from '../../../src/operate/encryption.ts'
import { moveTenant } from '../../../src/operate/move-tenant.ts'
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
import { type OwnServer, ownServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

/** Servers die here, but no machine: written data survives without a sync. */
const SPARE = ['fsync=off']

/** The home ledger and hookonce_1 are on the first server, hookonce_2 on the second. */
async function twoServers(): Promise<CountedHooks & { first: OwnServer; second: OwnServer }> {
  const [first, second] = await Promise.all([ownServer(SPARE), ownServer(SPARE)])
  const counted = await counting(first.db, { placement: { hookonce_2: second.db.url } })
  return { ...counted, first, second }
}

test('a tenant moves to another server while it works: no effect is lost, and none happens twice', async () => {
  const { first, second, hooks, effects, published, set } = await twoServers()
  const load = movingLoad(hooks)
  await until('many took effect', () => effects.size > 40, 120_000)
  const steps: string[] = []
  // Holds the move up while it copies, until deliveries meet it.
  const holding = await second.db.pool.connect()
  await holding.query('begin; lock table hookonce_2.receipt')
  const onStep = (step: string): void => void steps.push(step)
  const moving = moveTenant(set, { tenant: 'alpha', to: 'hookonce_2', onStep }, MOVE_REASON)
  await until('a delivery is refused while it copies', () => steps.includes('copying') && load.refusals > 0)
  await holding.query('commit')
  holding.release()
  expect(await moving).toEqual({ tenant: 'alpha', from: 'hookonce_1', to: 'hookonce_2' })
  const moved = load.keys.length
  await until('more are accepted there', () => load.keys.length > moved + 20)
  await load.stop()
  const { keys } = load
  const there = async (): Promise<boolean> => (await processedIn(second.db, 'hookonce_2')) === keys.length
  await until('all are processed there', there)
  await until('all were published', () => published.size === 2 * keys.length)

  expect([...effects].sort()).toEqual(onceEach(keys))
  expect([...published].sort()).toEqual(onceEach(keys))
  expect(await rowsOf(first.db, 'hookonce_1', 'alpha')).toBe(0)
  expect(await rowsOf(second.db, 'hookonce_2', 'alpha')).toBeGreaterThan(keys.length)
  expect(await rowsOf(first.db, 'hookonce_1', 'beta')).toBeGreaterThan(keys.length)
  await expect(
    first.db.rows(`insert into hookonce_1.receipt (id, shard, secret, tenant, source, event_key, event_type)
      values (gen_random_uuid(), 1, 1, 'alpha', 'alpha', 'late', 'x')`),
  ).rejects.toThrow('lives in another ledger')
}, 300_000)

test('a move between servers that dies at any step continues when it is started again', async () => {
  const { first, second, hooks, effects, set } = await twoServers()
  const serverOf = { hookonce_1: first.db, hookonce_2: second.db }
  let expected = 0
  let at: keyof typeof serverOf = 'hookonce_1'
  for (const step of ['closing', 'draining', 'copying', 'switching', 'deleting'] as const) {
    for (let n = 0; n < 5; n += 1) await deliverUntilAccepted(hooks, 'alpha', `${step}_${n}`)
    expected += 5
    await until('they are processed', async () => (await processedIn(serverOf[at], at)) === expected)
    const to: keyof typeof serverOf = at === 'hookonce_1' ? 'hookonce_2' : 'hookonce_1'
    await dieAt(set, to, step)
    const move = { tenant: 'alpha', to }
    expect(await moveTenant(set, move, MOVE_REASON)).toEqual({ tenant: 'alpha', from: at, to })
    expect(await processedIn(serverOf[to], to)).toBe(expected)
    expect(await rowsOf(serverOf[at], at, 'alpha')).toBe(0)
    at = to
  }

  // The new server dies while rows are copied.
  expect(at).toBe('hookonce_2')
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_1' }, MOVE_REASON)
  const holding = await second.db.pool.connect()
  holding.on('error', () => undefined)
  await holding.query('begin; lock table hookonce_2.receipt')
  const back = { tenant: 'alpha', to: 'hookonce_2' }
  const waiting = `select count(*) from pg_locks where not granted and relation = 'hookonce_2.receipt'::regclass`
  const failing = expect(moveTenant(set, back, MOVE_REASON)).rejects.toThrow()
  await until('the copy waits', () => second.db.number(waiting))
  await second.stop()
  holding.release(true)
  await failing
  await second.start()
  const again = async (): Promise<unknown> => moveTenant(set, back, MOVE_REASON).catch(() => undefined)
  expect(await until('the move is done', again)).toEqual({ ...back, from: 'hookonce_1' })
  expect(await processedIn(second.db, 'hookonce_2')).toBe(expected)

  // A known event is a duplicate in every ledger in which the tenant has lived.
  await deliverUntilAccepted(hooks, 'alpha', 'closing_0')
  await deliverUntilAccepted(hooks, 'alpha', 'last')
  const lastIsProcessed = async (): Promise<boolean> =>
    (await processedIn(second.db, 'hookonce_2')) === expected + 1
  await until('the last one is processed', lastIsProcessed)
  expect([...effects.values()].every((count) => count === 1)).toBe(true)
  expect(effects.size).toBe(expected + 1)
}, 300_000)

test('a move is cancelled while the new server is down, and its copy is deleted later', async () => {
  const { first, second, hooks, effects, set } = await twoServers()
  await deliverUntilAccepted(hooks, 'alpha', 'evt_1')
  await until('it is processed', () => processedIn(first.db, 'hookonce_1'))
  await dieAt(set, 'hookonce_2', 'switching')
  await second.stop()
  const back = { tenant: 'alpha', to: 'hookonce_1' }
  await expect(moveTenant(set, back, MOVE_REASON)).rejects.toThrow('rows of it remain in hookonce_2')
  await deliverUntilAccepted(hooks, 'alpha', 'evt_2')
  await until('it is processed', async () => (await processedIn(first.db, 'hookonce_1')) === 2)
  // The record still names the copy, so the erasure of a key fails instead of missing it.
  await expect(forgetTenant(set, { tenant: 'alpha' }, MOVE_REASON)).rejects.toThrow()

  await second.start()
  const again = async (): Promise<unknown> => moveTenant(set, back, MOVE_REASON).catch(() => undefined)
  expect(await until('the copy is deleted', again)).toEqual({ ...back, from: 'hookonce_2' })
  expect(await rowsOf(second.db, 'hookonce_2', 'alpha')).toBe(0)
  expect([...effects.values()]).toEqual([1, 1])
}, 300_000)

test('after the switch, a tenant works although its old server is down', async () => {
  const { first, second, hooks, effects, set } = await twoServers()
  const toSecond = { tenant: 'alpha', to: 'hookonce_2' }
  await moveTenant(set, toSecond, MOVE_REASON)
  await deliverUntilAccepted(hooks, 'alpha', 'evt_1')
  await until('it is processed', () => processedIn(second.db, 'hookonce_2'))
  const back = { tenant: 'alpha', to: 'hookonce_1' }
  await dieAt(set, back.to, 'switching')
  // The state right after the switch, before the command does anything else.
  await first.db.rows(
    `update hookonce_0.tenant_place set ledger = 'hookonce_1', moving_to = null, moved_from = 'hookonce_2'
     where tenant = 'alpha'`,
  )
  await second.stop()

  // Another command, which has no connection to the old server yet.
  const opened = ledgersAtFirstUse({
    names: set.members.map(({ name }) => name),
    open: (name) =>
      openLedger({
        database: name === 'hookonce_2' ? second.db.url : first.db.url,
        dir: '',
        schema: name,
        migrate: 'off',
        prepare: 'on',
        durability: 'unsafe',
        maxConnections: 2,
        isOneOfMany: true,
      }),
  })
  onTestFinished(() => opened.close())
  const fresh = opened.set((ledger) => ledger)
  await expect(moveTenant(fresh, back, MOVE_REASON)).rejects.toThrow('rows of it remain in hookonce_2')
  await deliverUntilAccepted(hooks, 'alpha', 'evt_2')
  await until('it is processed', async () => (await processedIn(first.db, 'hookonce_1')) === 2)
  expect([...effects.values()]).toEqual([1, 1])

  await second.start()
  expect(await moveTenant(fresh, back, MOVE_REASON)).toEqual({ ...back, from: 'hookonce_2' })
  expect(await rowsOf(second.db, 'hookonce_2', 'alpha')).toBe(0)
}, 300_000)
