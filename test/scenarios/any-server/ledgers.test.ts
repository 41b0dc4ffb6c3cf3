import { expect, test } from 'vitest'
import { operatorsOf } from '../../../src/hookonce.ts'
import { hashedLedger, ledgerNames } from '../../../src/model/ledger-names.ts'
import { listEvents } from '../../../src/operate/events.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { replayOne } from '../../../src/operate/replay.ts'
import { readStatus } from '../../../src/operate/status.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliverTo, fleetHooks, PLACES, TENANTS } from '../../support/fleet.ts'
import { until } from '../../support/until.ts'

const ledgers = { count: 3, tenants: PLACES }

function places(db: TestDatabase, ledger: string): Promise<{ tenant: string; ledger: string }[]> {
  return db.rows(`select tenant, ledger from ${ledger}.tenant_place order by tenant`)
}

test('each tenant is recorded and processed in its own ledger', async () => {
  const db = await freshDatabase()
  const hooks = fleetHooks(db, TENANTS, { ledgers })
  const handled: string[] = []
  for (const tenant of TENANTS) hooks.on(tenant, '*', (event) => void handled.push(`${tenant} ${event.key}`))
  await hooks.start()
  for (const tenant of TENANTS) expect(await deliverTo(hooks, tenant, 'evt_1')).toBe(202)
  expect(await deliverTo(hooks, 'beta', 'evt_1')).toBe(200)
  await until('all ran', () => handled.length === 3)
  expect(handled.sort()).toEqual(TENANTS.map((tenant) => `${tenant} evt_1`))
  for (const [tenant, ledger] of Object.entries(PLACES))
    expect(await db.rows(`select tenant from ${ledger}.receipt`)).toEqual([{ tenant }])
  // The home ledger knows all tenants, the other ledgers know their own.
  const all = Object.entries(PLACES).map(([tenant, ledger]) => ({ tenant, ledger }))
  expect(await places(db, 'hookonce_0')).toEqual(all)
  expect(await places(db, 'hookonce_2')).toEqual([{ tenant: 'gamma', ledger: 'hookonce_2' }])
  expect(await hooks.ready()).toBe(true)
  const metrics = await hooks.metrics()
  expect(metrics).toContain('hookonce_ledger_up{ledger="hookonce_2"} 1')
  expect(metrics).toMatch(/hookonce_received_total\{[^}]*source="gamma"[^}]*\} 1/)
  // A source that is not configured is refused, as with one ledger.
  expect(await deliverTo(hooks, 'nobody', 'evt_1')).toBe(404)
})

test('without an entry the hash decides, and more ledgers move no tenant', async () => {
  const db = await freshDatabase()
  const tenants = ['a', 'b', 'c', 'd', 'e', 'f']
  const first = fleetHooks(db, tenants, { ledgers: 2 })
  for (const tenant of tenants) first.on(tenant, '*', () => undefined)
  await first.ledger()
  await first.stop()
  const hashed = tenants.map((tenant) => ({
    tenant,
    ledger: hashedLedger(tenant, ledgerNames('hookonce', 2)),
  }))
  expect(await places(db, 'hookonce_0')).toEqual(hashed)
  expect(new Set(hashed.map(({ ledger }) => ledger)).size).toBe(2)

  const grown = fleetHooks(db, [...tenants, 'g'], { ledgers: 5 })
  for (const tenant of [...tenants, 'g']) grown.on(tenant, '*', () => undefined)
  await grown.ledger()
  const added = { tenant: 'g', ledger: hashedLedger('g', ledgerNames('hookonce', 5)) }
  expect(await places(db, 'hookonce_0')).toEqual([...hashed, added])
})

test('an entry that contradicts the record is refused, and so is a ledger that is not configured', async () => {
  const db = await freshDatabase()
  const first = fleetHooks(db, ['alpha'], { ledgers: { count: 3, tenants: { alpha: 'hookonce_2' } } })
  first.on('alpha', '*', () => undefined)
  await first.ledger()
  const contradicting = fleetHooks(db, ['alpha'], { ledgers: { count: 3, tenants: { alpha: 'hookonce_1' } } })
  contradicting.on('alpha', '*', () => undefined)
  await expect(contradicting.start()).rejects.toThrow('hookonce ledgers move alpha hookonce_1')
  const fewer = fleetHooks(db, ['alpha'], { ledgers: 2 })
  fewer.on('alpha', '*', () => undefined)
  await expect(fewer.start()).rejects.toThrow('lives in the ledger hookonce_2, which is not configured')
})

test('a ledger from before `ledgers` keeps its tenants, and must be configured', async () => {
  const db = await freshDatabase()
  const before = fleetHooks(db, ['alpha'], { ledgers: undefined })
  before.on('alpha', '*', () => undefined)
  await before.start()
  expect(await deliverTo(before, 'alpha', 'evt_1')).toBe(202)
  await before.stop()
  const forgetful = fleetHooks(db, ['alpha'], { ledgers: 3 })
  forgetful.on('alpha', '*', () => undefined)
  await expect(forgetful.start()).rejects.toThrow("pass also: ['hookonce']")
  const after = fleetHooks(db, ['alpha'], { ledgers: { count: 3, also: ['hookonce'] } })
  let runs = 0
  after.on('alpha', '*', () => {
    runs += 1
  })
  await after.start()
  expect(await deliverTo(after, 'alpha', 'evt_1')).toBe(200)
  expect(await deliverTo(after, 'alpha', 'evt_2')).toBe(202)
  await until('the new event ran', () => runs === 1)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})

test('operators read across ledgers, and act in the ledger that has the object', async () => {
  const db = await freshDatabase()
  const hooks = fleetHooks(db, TENANTS, { ledgers })
  let runs = 0
  for (const tenant of TENANTS)
    hooks.on(tenant, '*', () => {
      runs += 1
    })
  await hooks.start()
  for (let n = 0; n < 9; n += 1) await deliverTo(hooks, TENANTS[n % 3] ?? '', `evt_${n}`)
  await until('all ran', () => runs === 9)

  const operators = await operatorsOf(hooks)
  const listed: string[] = []
  const pages: (string | undefined)[] = []
  for (let after: string | undefined; ; ) {
    const page = await listEvents(operators, { limit: 2, after })
    listed.push(...page.events.map(({ eventKey }) => eventKey))
    pages.push(page.previous)
    after = page.next
    if (after === undefined) break
  }
  expect(listed).toEqual(Array.from({ length: 9 }, (_, n) => `evt_${8 - n}`))
  const back = await listEvents(operators, { limit: 2, before: pages.at(-1) })
  expect(back.events.map(({ eventKey }) => eventKey)).toEqual(['evt_2', 'evt_1'])

  const { totals, workers } = await readStatus(operators)
  expect(workers).toHaveLength(3)
  expect(totals.failed).toBe(0)
  const [event] = (await listEvents(operators, { limit: 1, tenant: 'gamma' })).events
  expect((await readEvent(operators, event?.id ?? '')).receipt.tenant).toBe('gamma')
  await expect(readEvent(operators, '00000000-0000-0000-0000-000000000000')).rejects.toThrow(
    'RECEIPT_UNKNOWN',
  )
  expect((await replayOne(operators, event?.id ?? '')).jobs).toBe(1)
  await until('it ran again', () => runs === 10)
  expect(await hooks.pause('beta')).toBe(true)
  expect(await db.number('select count(*) from hookonce_1.source where paused_at is not null')).toBe(1)
})

test('pages over several ledgers neither skip nor repeat events of one commit', async () => {
  const db = await freshDatabase()
  const hooks = fleetHooks(db, TENANTS, { ledgers })
  for (const tenant of TENANTS) hooks.on(tenant, '*', () => undefined)
  for (const tenant of TENANTS)
    for (let n = 0; n < 8; n += 1) expect(await deliverTo(hooks, tenant, `evt_${n}`)).toBe(202)
  // A group commit gives its receipts one time.
  for (const ledger of Object.values(PLACES))
    await db.rows(`update ${ledger}.receipt set received_at = '2026-01-01'`)
  const operators = await operatorsOf(hooks)
  const all = (await listEvents(operators, { limit: 100 })).events.map(({ id }) => id)
  expect(new Set(all).size).toBe(24)
  const onward: string[] = []
  let page = await listEvents(operators, { limit: 5 })
  for (;;) {
    onward.push(...page.events.map(({ id }) => id))
    if (page.next === undefined) break
    page = await listEvents(operators, { limit: 5, after: page.next })
  }
  expect(onward).toEqual(all)
  const back = page.events.map(({ id }) => id)
  while (page.previous !== undefined) {
    page = await listEvents(operators, { limit: 5, before: page.previous })
    back.unshift(...page.events.map(({ id }) => id))
  }
  expect(back).toEqual(all)
})

test('before a process has recorded the tenants, operators find them in a ledger of `also`', async () => {
  const db = await freshDatabase()
  const alone = fleetHooks(db, ['alpha'], { ledgers: undefined }).on('alpha', '*', () => undefined)
  expect(await deliverTo(alone, 'alpha', 'evt_1')).toBe(202)
  await alone.stop()
  const also = { HOOKONCE_LEDGERS: JSON.stringify({ count: 2, also: ['hookonce'] }), DATABASE_URL: db.url }
  await cli(['migrate'], also)
  const paused = await cli(['pause', 'alpha', '--tenant', 'alpha', '--why', 'a test'], also)
  expect(paused).toMatchObject({ code: 0, stderr: '' })
  expect(await db.number('select count(*) from hookonce.source where paused_at is not null')).toBe(1)
})

test('a replay before start() reaches subscribers that came later, as with one ledger', async () => {
  const db = await freshDatabase()
  const first = fleetHooks(db, ['beta'], { ledgers }).on('beta', '*', () => undefined, { name: 'first' })
  expect(await deliverTo(first, 'beta', 'evt_1')).toBe(202)
  await first.stop()
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce_1.receipt')
  const later: string[] = []
  const second = fleetHooks(db, ['beta'], { ledgers })
    .on('beta', '*', () => undefined, { name: 'first' })
    .on('beta', '*', (event) => void later.push(event.key), { name: 'later' })
  await second.replay(receipt?.id ?? '')
  await second.start()
  await until('both are processed', async () => {
    const processed = await db.number(`select count(*) from hookonce_1.job where state = 'processed'`)
    return processed === 2
  })
  expect(later).toEqual(['evt_1'])
})

test('the slots of a process are shared by its ledgers, and a loud one cannot take all', async () => {
  const db = await freshDatabase()
  const hooks = fleetHooks(db, ['alpha', 'beta'], { ledgers, concurrency: 8 })
  let running = 0
  let most = 0
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  hooks.on('alpha', '*', async () => {
    running += 1
    most = Math.max(most, running)
    await released
    running -= 1
  })
  let quiet = 0
  hooks.on('beta', '*', () => {
    quiet += 1
  })
  await hooks.start()
  await Promise.all(Array.from({ length: 30 }, (_, n) => deliverTo(hooks, 'alpha', `evt_${n}`)))
  await until('the loud ledger has its slots', () => running === 7)
  await deliverTo(hooks, 'beta', 'evt_1')
  await until('the quiet one runs beside it', () => quiet === 1)
  expect(most).toBe(7)
  release()
  await until(
    'all are done',
    async () => (await db.number(`select count(*) from hookonce_0.job where state = 'processed'`)) === 30,
  )
})
