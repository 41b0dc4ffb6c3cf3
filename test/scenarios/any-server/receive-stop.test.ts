import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { lockTable } from '../../support/table-lock.ts'

/* A clean stop loses no acknowledged event and no count. */

test('deliveries in progress at a stop are recorded and answered', async () => {
  const db = await freshDatabase()
  const { hooks, send, stop } = receiving(db)
  await hooks.ledger('test')
  const lock = await lockTable(db, 'hookonce.receipt')
  const inFlight = send({ id: 'evt_1', type: 'a' })
  await lock.waiters(1)
  const waiting = send({ id: 'evt_2', type: 'a' })
  // Its bytes must be read before the stop, as those of any delivery in progress.
  await new Promise((resolve) => setImmediate(resolve))
  const stopping = stop()
  await lock.release()
  await stopping
  expect([(await inFlight).status, (await waiting).status]).toEqual([202, 202])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})

test('counts of duplicates that wait for the ledger at a stop are written', async () => {
  const db = await freshDatabase()
  const { send, stop } = receiving(db)
  await send({ id: 'evt_1', type: 'a' })
  const lock = await lockTable(db, 'hookonce.duplicate')
  await send({ id: 'evt_1', type: 'a' })
  await lock.waiters(1)
  // The ledger is writing the first count. This one waits for its answer.
  await send({ id: 'evt_1', type: 'a' })
  const stopping = stop()
  await lock.release()
  await stopping
  expect(await db.rows('select count from hookonce.duplicate')).toEqual([{ count: 2 }])
})

test('refusals that are being written at a stop are all written', async () => {
  const db = await freshDatabase()
  const { hooks, post, stop } = receiving(db)
  await hooks.ledger('test')
  const lock = await lockTable(db, 'hookonce.rejection')
  await post({ method: 'POST', body: '{}' })
  await post({ method: 'POST', body: '{}' }, '/in/nobody')
  await post({ method: 'GET' })
  await lock.waiters(1)
  const stopping = stop()
  // The stop proceeds as far as possible while the first delivery still waits.
  await new Promise((resolve) => setImmediate(resolve))
  await lock.release()
  await stopping
  expect(await db.rows('select code from hookonce.rejection order by code')).toEqual([
    { code: 'METHOD_NOT_ALLOWED' },
    { code: 'SIGNATURE_MISSING' },
    { code: 'SOURCE_UNKNOWN' },
  ])
})
