import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import { isSet, type LedgerSet } from '../../../src/ledger/ledger-set.ts'
import { type MoveStep, moveTenant } from '../../../src/operate/move-tenant.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliverTo, fleetHooks } from '../../support/fleet.ts'
import { until } from '../../support/until.ts'

const PLACES = { alpha: 'hookonce_1', beta: 'hookonce_1' }
const reason = { by: 'test', why: 'more room' }

/** Two tenants in one ledger. Their effects and messages are counted. */
async function counting(db: TestDatabase) {
  const effects = new Map<string, number>()
  const published = new Map<string, number>()
  const add = (to: Map<string, number>, key: string): void => void to.set(key, (to.get(key) ?? 0) + 1)
  const hooks = fleetHooks(db, Object.keys(PLACES), {
    // Only the first process configures the places: a move changes them.
    ledgers: { count: 3, tenants: PLACES },
    outbox: { publishers: { '*': ({ payload }) => add(published, String(payload)) } },
  })
  for (const tenant of Object.keys(PLACES))
    hooks.on(
      tenant,
      '*',
      async (event, ctx) => {
        await ctx.effect(`effect:${event.key}`, () => add(effects, `${tenant} ${event.key}`))
        ctx.publish('done', `${tenant} ${event.key}`, { key: event.key.slice(-1) })
      },
      { ordered: (event) => event.key.slice(-1) },
    )
  await hooks.start()
  const all = await operatorsOf(hooks)
  if (!isSet(all)) throw new Error('there is only one ledger')
  return { hooks, effects, published, set: all }
}

/** Sends like a provider: again until the event is accepted. */
async function deliverUntilAccepted(
  hooks: Awaited<ReturnType<typeof counting>>['hooks'],
  tenant: string,
  id: string,
  onRefused: () => void = () => undefined,
): Promise<void> {
  for (;;) {
    const status = await deliverTo(hooks, tenant, id)
    if (status < 300) return
    expect(status).toBe(503)
    onRefused()
    await delay(50)
  }
}

function rowsOf(db: TestDatabase, ledger: string, tenant: string): Promise<number> {
  return db.number(
    `select (select count(*) from ${ledger}.receipt where tenant = $1)
      + (select count(*) from ${ledger}.effect where tenant = $1)
      + (select count(*) from ${ledger}.outbox where tenant = $1)
      + (select count(*) from ${ledger}.subscriber where tenant = $1)`,
    [tenant],
  )
}

function processed(db: TestDatabase, ledger: string): Promise<number> {
  return db.number(
    `select count(*) from ${ledger}.job j join ${ledger}.receipt r on r.shard = j.shard and r.id = j.receipt_id
     where r.tenant = 'alpha' and j.state = 'processed'`,
  )
}

/** A move that dies at this step, as by kill -9: nothing cleans up. */
async function dieAt(set: LedgerSet, to: string, step: MoveStep): Promise<void> {
  const onStep = (reached: MoveStep): void => {
    if (reached === step) throw new Error(`died while ${step}`)
  }
  await expect(moveTenant(set, { tenant: 'alpha', to, onStep }, reason)).rejects.toThrow(`died while ${step}`)
}

test('a tenant moves while it works: no effect is lost, and none happens twice', async () => {
  const db = await freshDatabase()
  const { hooks, effects, published, set } = await counting(db)
  const keys: string[] = []
  let isSending = true
  let refusals = 0
  const sent = (async () => {
    while (isSending) {
      const key = `evt_${keys.length}`
      await deliverUntilAccepted(hooks, 'alpha', key, () => {
        refusals += 1
      })
      keys.push(key)
      // Repeats of events from before the move are still duplicates after it.
      if (keys.length % 3 === 0) {
        const known = keys[Math.floor(keys.length / 2)] ?? key
        await deliverUntilAccepted(hooks, 'alpha', known)
      }
      expect(await deliverTo(hooks, 'beta', key)).toBe(202)
    }
  })()
  await until('many took effect', () => effects.size > 80)
  // Blocks the move while it copies, until deliveries are refused.
  const holding = await db.pool.connect()
  await holding.query('begin; lock table hookonce_2.receipt')
  const moving = moveTenant(set, { tenant: 'alpha', to: 'hookonce_2' }, reason)
  await until('a delivery is refused', () => refusals > 0)
  await holding.query('commit')
  holding.release()
  expect(await moving).toEqual({ tenant: 'alpha', from: 'hookonce_1', to: 'hookonce_2' })
  const moved = keys.length
  await until('more are accepted there', () => keys.length > moved + 20)
  isSending = false
  await sent
  await until('all are processed there', async () => (await processed(db, 'hookonce_2')) === keys.length)
  await until('all were published', () => published.size === 2 * keys.length)

  const once = Object.keys(PLACES).flatMap((tenant) => keys.map((key) => [`${tenant} ${key}`, 1] as const))
  expect([...effects].sort()).toEqual([...once].sort())
  expect([...published].sort()).toEqual([...once].sort())
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

test('a move that dies at any step continues when it is started again', async () => {
  const db = await freshDatabase()
  const { hooks, effects, set } = await counting(db)
  let expected = 0
  let at = 'hookonce_1'
  for (const step of ['draining', 'copying', 'switching', 'deleting'] as const) {
    for (let n = 0; n < 5; n += 1) await deliverUntilAccepted(hooks, 'alpha', `${step}_${n}`)
    expected += 5
    await until('they are processed', async () => (await processed(db, at)) === expected)
    const to = at === 'hookonce_1' ? 'hookonce_2' : 'hookonce_1'
    await dieAt(set, to, step)
    expect(await moveTenant(set, { tenant: 'alpha', to }, reason)).toEqual({ tenant: 'alpha', from: at, to })
    expect(await processed(db, to)).toBe(expected)
    expect(await rowsOf(db, at, 'alpha')).toBe(0)
    at = to
  }
  // A known event is a duplicate in every ledger in which the tenant has lived.
  await deliverUntilAccepted(hooks, 'alpha', 'draining_0')
  await deliverUntilAccepted(hooks, 'alpha', 'last')
  await until('the last one is processed', async () => (await processed(db, at)) === expected + 1)
  expect([...effects.values()].every((count) => count === 1)).toBe(true)
  expect(effects.size).toBe(expected + 1)
})
