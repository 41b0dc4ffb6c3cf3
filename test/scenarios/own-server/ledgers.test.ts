import { expect, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import type { HookonceError } from '../../../src/model/errors.ts'
import { reporting } from '../../../src/operate/across.ts'
import { rotateEncryption } from '../../../src/operate/encryption.ts'
import { listEvents } from '../../../src/operate/events.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { newKey, REASON } from '../../support/encryption.ts'
import { deliverTo, fleetHooks, PLACES, TENANTS } from '../../support/fleet.ts'
import { configTo, deliver, destination } from '../../support/gateway.ts'
import { ownServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

test('one of three servers dies: the others continue, and it resumes', async () => {
  const [home, second, third] = await Promise.all([ownServer(), ownServer(), ownServer()])
  const placement = { hookonce_1: second.db.url, hookonce_2: third.db.url }
  const ledgers = { count: 3, placement, tenants: PLACES }
  const make = () => {
    const hooks = fleetHooks(home.db, TENANTS, { ledgers })
    for (const tenant of TENANTS)
      hooks.on(tenant, '*', (event) => void handled.push(`${tenant} ${event.key}`))
    return hooks
  }
  const handled: string[] = []
  const hooks = make()
  await hooks.start()
  for (const tenant of TENANTS) expect(await deliverTo(hooks, tenant, 'evt_1')).toBe(202)
  await until('all ran', () => handled.length === 3)
  expect(await third.db.number('select count(*) from hookonce_2.receipt')).toBe(1)

  await third.stop()
  await until('its source is refused', async () => (await deliverTo(hooks, 'gamma', 'evt_2')) === 503)
  for (const tenant of ['alpha', 'beta']) expect(await deliverTo(hooks, tenant, 'evt_2')).toBe(202)
  await until('the others ran', () => handled.includes('alpha evt_2') && handled.includes('beta evt_2'))
  expect(await hooks.ready()).toBe(true)
  expect(await hooks.metrics()).toContain('hookonce_ledger_up{ledger="hookonce_2"} 0')
  const down: string[] = []
  const operators = reporting(await operatorsOf(hooks), (name) => down.push(name))
  const { events } = await listEvents(operators, { limit: 10 })
  expect(events).toHaveLength(4)
  expect(down).toEqual(['hookonce_2'])
  await expect(readEvent(operators, '00000000-0000-0000-0000-000000000000')).rejects.toThrow(
    'unreachable: hookonce_2',
  )

  await third.start()
  await until('it records again', async () => (await deliverTo(hooks, 'gamma', 'evt_2')) === 202)
  await until('it runs again', () => handled.includes('gamma evt_2'))

  // Without the home ledger, a new process serves the tenants that other ledgers record as their
  // own.
  await hooks.stop()
  await home.stop()
  const later = make()
  await later.start()
  expect(await deliverTo(later, 'beta', 'evt_3')).toBe(202)
  expect(await deliverTo(later, 'alpha', 'evt_3')).toBe(503)
  await until('beta ran', () => handled.includes('beta evt_3'))
  await home.start()
  await until('alpha is served again', async () => (await deliverTo(later, 'alpha', 'evt_3')) === 202)
  await until('alpha ran', () => handled.includes('alpha evt_3'))
})

test('while the home ledger is down, the admin token of the environment reads the other ledgers', async () => {
  const [home, second] = await Promise.all([ownServer(), ownServer()])
  const placement = { hookonce_1: 'env:SECOND_URL' }
  const ledgers = { count: 2, placement, tenants: { default: 'hookonce_1' } }
  const config = { ...configTo((await destination()).url), ledgers }
  const env = { SECOND_URL: second.db.url }
  const { port, get, token } = await adminApi({ db: home.db, config, env })
  expect(await deliver(port, 'evt_1')).toBe(202)
  const stored = await token({ name: 'reader', role: 'viewer' })
  expect(await get('/events', { token: stored })).toMatchObject({ status: 200 })

  await home.stop()
  const answer = await get('/events')
  expect(answer).toMatchObject({ status: 200, json: { data: [{ eventKey: 'evt_1' }] } })
  expect(answer.headers.get('hookonce-unreachable-ledgers')).toBe('hookonce_0')
  // Stored tokens are in the home ledger.
  expectProblem(await get('/events', { token: stored }), 503, 'LEDGER_DOWN')
})

test('while a ledger of `also` is down, only new tenants wait', async () => {
  const [home, second] = await Promise.all([ownServer(), ownServer()])
  const ledgers = { count: 2, also: ['hookonce'], placement: { hookonce: second.db.url } }
  const before = fleetHooks(home.db, ['alpha'], { ledgers })
  before.on('alpha', '*', () => undefined)
  expect(await deliverTo(before, 'alpha', 'evt_1')).toBe(202)
  await before.stop()

  await second.stop()
  const hooks = fleetHooks(home.db, ['alpha', 'beta'], { ledgers })
  for (const tenant of ['alpha', 'beta']) hooks.on(tenant, '*', () => undefined)
  expect(await deliverTo(hooks, 'alpha', 'evt_2')).toBe(202)
  expect(await deliverTo(hooks, 'beta', 'evt_2')).toBe(503)
  await second.start()
  await until('the new tenant is placed', async () => (await deliverTo(hooks, 'beta', 'evt_2')) === 202)
})

test('a rotation of the master key fails while a ledger is down, and is repeated', async () => {
  const [home, second] = await Promise.all([ownServer(), ownServer()])
  const [old, next] = [newKey(), newKey()]
  const ledgers = { count: 2, placement: { hookonce_1: second.db.url }, tenants: { beta: 'hookonce_1' } }
  const hooks = fleetHooks(home.db, ['beta'], { ledgers, encryption: { key: [next, old] } })
  hooks.on('beta', '*', () => undefined)
  expect(await deliverTo(hooks, 'beta', 'evt_1')).toBe(202)
  await second.db.rows(`update hookonce_1.data_key set master = 'unknown'`)
  const set = await operatorsOf(hooks)
  await second.stop()
  await expect(rotateEncryption(set, REASON)).rejects.toThrow(
    'applied to every ledger except hookonce_1 (unreachable)',
  )
  await second.start()
  // It is no longer passed over: its keys are wrapped by a key that nobody has.
  await until('it is reached', () =>
    rotateEncryption(set, REASON).catch((error: HookonceError) => error.code === 'ENCRYPTION_KEY_MISSING'),
  )
})
