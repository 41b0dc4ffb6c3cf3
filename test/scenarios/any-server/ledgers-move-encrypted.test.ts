import { expect, test } from 'vitest'
import type { LedgerSet } from '../../../src/ledger/ledger-set.ts'
import { forgetTenant, listEncryptionKeys } from '../../../src/operate/encryption.ts'
import { type MoveStep, moveTenant } from '../../../src/operate/move-tenant.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { newKey } from '../../support/encryption.ts'
import { deliverTo } from '../../support/fleet.ts'
import {
  counting,
  deliverUntilAccepted,
  dieAt,
  MOVE_REASON,
  movingLoad,
  onceEach,
  processedIn,
  rowsOf,
} from '../../support/moving.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

const encryption = { key: newKey() }
const toSecond = { tenant: 'alpha', to: 'hookonce_2' }

async function receiptId(db: TestDatabase, ledger: string, tenant: string, key: string): Promise<string> {
  const [row] = await db.rows<{ id: string }>(
    `select id from ${ledger}.receipt where tenant = $1 and event_key = $2`,
    [tenant, key],
  )
  return row?.id ?? ''
}

async function bodyOf(set: LedgerSet, id: string): Promise<string | undefined> {
  return (await readEvent(set, id)).receipt.body?.toString()
}

async function faultOf(set: LedgerSet, id: string): Promise<string | undefined> {
  return (await readEvent(set, id)).receipt.unreadable?.code
}

function openKeys(db: TestDatabase, ledger: string): Promise<number> {
  return db.number(
    `select count(*) from ${ledger}.data_key where tenant = 'alpha' and purpose = 'payload' and wrapped is not null`,
  )
}

test('a data key cannot be forgotten while it is copied', async () => {
  const db = await freshDatabase()
  const { hooks, set } = await counting(db, { encryption })
  await deliverUntilAccepted(hooks, 'alpha', 'evt_1')
  await until('it is processed', async () => (await processedIn(db, 'hookonce_1')) === 1)
  // Stops the copy between reading the keys and writing them: the same ids are being inserted.
  const holding = await db.pool.connect()
  await holding.query(
    `begin; insert into hookonce_2.data_key overriding system value
     select * from hookonce_1.data_key where tenant = 'alpha'`,
  )
  const moving = moveTenant(set, toSecond, MOVE_REASON)
  await until('the copy waits', async () => {
    const waiting = await db.number(
      `select count(*) from pg_stat_activity where datname = current_database()
       and wait_event = 'transactionid' and query like '%insert into%data_key%'`,
    )
    return waiting > 0
  })
  // A key that is forgotten now would be forgotten here, and then copied.
  const free = await db.number(
    `with free as (select from hookonce_1.data_key where tenant = 'alpha' for update skip locked)
     select count(*) from free`,
  )
  await holding.query('rollback')
  holding.release()
  await moving
  expect(free).toBe(0)
  expect(await openKeys(db, 'hookonce_2')).toBe(1)
})

test('an encrypted tenant moves while it works: its events are read there', async () => {
  const db = await freshDatabase()
  const { hooks, effects, set } = await counting(db, { encryption })
  const load = movingLoad(hooks)
  await until('many took effect', () => effects.size > 40)
  await moveTenant(set, toSecond, MOVE_REASON)
  const moved = load.keys.length
  await until('more are accepted there', () => load.keys.length > moved + 10)
  await load.stop()
  const { keys } = load
  await until('all are processed there', async () => (await processedIn(db, 'hookonce_2')) === keys.length)
  await until('all took effect', () => effects.size === 2 * keys.length)
  expect([...effects].sort()).toEqual(onceEach(keys))
  expect(await rowsOf(db, 'hookonce_1', 'alpha')).toBe(0)
  expect(await db.number('select count(*) from hookonce_2.receipt where body is not null')).toBe(0)

  // Read after the move: an event from before it, and one from after it. Both have the same key.
  const [before, after] = [keys[0] ?? '', keys.at(-1) ?? '']
  const ids = await Promise.all([before, after].map((key) => receiptId(db, 'hookonce_2', 'alpha', key)))
  expect(await Promise.all(ids.map((id) => bodyOf(set, id)))).toEqual([
    expect.stringContaining(before),
    expect.stringContaining(after),
  ])
  expect(await db.number('select count(distinct data_key) from hookonce_2.receipt')).toBe(1)
  // The key of the hashes moved too: a repeat is no mismatch, and another body is one.
  expect(await deliverTo(hooks, 'alpha', before)).toBe(200)
  const other = signed({ id: before, type: 'x', amount: 2 })
  expect((await hooks.fetch(new Request('http://app.test/in/alpha', other))).status).toBe(200)
  await hooks.stop()
  const duplicate = await db.rows(`select mismatches from hookonce_2.duplicate where receipt_id = $1`, [
    ids[0],
  ])
  expect(duplicate).toEqual([{ mismatches: 1 }])
})

test('a key that is erased after a move is gone from every ledger, and stays erased when moved back', async () => {
  const db = await freshDatabase()
  const { hooks, set } = await counting(db, { encryption })
  for (const tenant of ['alpha', 'beta']) await deliverUntilAccepted(hooks, tenant, 'evt_1')
  await until('it is processed', () => processedIn(db, 'hookonce_1'))
  await moveTenant(set, toSecond, MOVE_REASON)
  const id = await receiptId(db, 'hookonce_2', 'alpha', 'evt_1')

  // Not read before: a process remembers keys for ten seconds.
  await forgetTenant(set, { tenant: 'alpha' }, MOVE_REASON)
  expect(await faultOf(set, id)).toBe('PAYLOAD_FORGOTTEN')
  expect([await openKeys(db, 'hookonce_1'), await openKeys(db, 'hookonce_2')]).toEqual([0, 0])
  const beta = await receiptId(db, 'hookonce_1', 'beta', 'evt_1')
  expect(await bodyOf(set, beta)).toContain('evt_1')

  // A new event gets a new key, and the move back takes both, the erased one as erased.
  await deliverUntilAccepted(hooks, 'alpha', 'evt_2')
  await until('it is processed', async () => (await processedIn(db, 'hookonce_2')) === 2)
  await moveTenant(set, { tenant: 'alpha', to: 'hookonce_1' }, MOVE_REASON)
  expect(await faultOf(set, id)).toBe('PAYLOAD_FORGOTTEN')
  expect(await bodyOf(set, await receiptId(db, 'hookonce_1', 'alpha', 'evt_2'))).toContain('evt_2')
  const listed = (await listEncryptionKeys(set)).filter(
    ({ tenant, purpose }) => tenant === 'alpha' && purpose === 'payload',
  )
  expect(listed.map(({ isOpen }) => isOpen)).toEqual([false, true])
})

test.each(['switching', 'deleting'] as const satisfies readonly MoveStep[])(
  'a key that is erased after a move died while %s is gone from both ledgers',
  async (step) => {
    const db = await freshDatabase()
    const { hooks, set } = await counting(db, { encryption })
    await deliverUntilAccepted(hooks, 'alpha', 'evt_1')
    await until('it is processed', () => processedIn(db, 'hookonce_1'))
    await dieAt(set, 'hookonce_2', step)
    expect([await openKeys(db, 'hookonce_1'), await openKeys(db, 'hookonce_2')]).toEqual([1, 1])

    await forgetTenant(set, { tenant: 'alpha' }, MOVE_REASON)
    expect([await openKeys(db, 'hookonce_1'), await openKeys(db, 'hookonce_2')]).toEqual([0, 0])
    await moveTenant(set, toSecond, MOVE_REASON)
    expect(await faultOf(set, await receiptId(db, 'hookonce_2', 'alpha', 'evt_1'))).toBe('PAYLOAD_FORGOTTEN')
  },
)

test.each(['switching', 'deleting'] as const satisfies readonly MoveStep[])(
  'a key is erased everywhere after a move died while %s, and one to a third ledger died too',
  async (step) => {
    const db = await freshDatabase()
    const { hooks, set } = await counting(db, { encryption })
    await deliverUntilAccepted(hooks, 'alpha', 'evt_1')
    await until('it is processed', () => processedIn(db, 'hookonce_1'))
    await dieAt(set, 'hookonce_2', step)
    await dieAt(set, 'hookonce_0', 'switching')

    await forgetTenant(set, { tenant: 'alpha' }, MOVE_REASON)
    const ledgers = ['hookonce_0', 'hookonce_1', 'hookonce_2']
    expect(await Promise.all(ledgers.map((ledger) => openKeys(db, ledger)))).toEqual([0, 0, 0])
    await moveTenant(set, { tenant: 'alpha', to: 'hookonce_0' }, MOVE_REASON)
    expect(await faultOf(set, await receiptId(db, 'hookonce_0', 'alpha', 'evt_1'))).toBe('PAYLOAD_FORGOTTEN')
    expect(await rowsOf(db, 'hookonce_1', 'alpha')).toBe(0)
    expect(await rowsOf(db, 'hookonce_2', 'alpha')).toBe(0)
  },
)
