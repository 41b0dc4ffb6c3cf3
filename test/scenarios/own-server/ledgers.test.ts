import { expect, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import type { HookonceError } from '../../../src/model/errors.ts'
import { reporting } from '../../../src/operate/across.ts'
import { rotateEncryption } from '../../../src/operate/encryption.ts'
import { listEvents } from '../../../src/operate/events.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { newKey, REASON } from '../../support/encryption.ts'
import { deliverTo, fleetHooks, PLACES, TENANTS } from '../../support/fleet.ts'
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
