import { expect, test } from 'vitest'
import { pruneReceipts } from '../../../src/upkeep/prune-receipts.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/* Expired means expired at once, before any sweep. */

const EVENT = { id: 'evt_1', type: 'a' }
/** Longer ago than the default retention of keys. */
const AGE = `update hookonce.receipt set received_at = received_at - interval '200 days'`
const PROCESSED = `select count(*) from hookonce.job where state = 'processed'`

test('an expired key that was not swept yet is new: one receipt, one new job, no old counts', async () => {
  const db = await freshDatabase()
  let runs = 0
  const { hooks, send, stop } = receiving(db, {
    handler: () => {
      runs += 1
    },
  })
  await hooks.start()
  await send(EVENT)
  await send(EVENT)
  await until('the first is processed and its repeat counted', async () => {
    const counted = await db.number('select count(*) from hookonce.duplicate')
    return counted === 1 && (await db.number(PROCESSED)) === 1
  })
  await db.pool.query(AGE)

  const again = await send({ ...EVENT, amount: 2 })
  expect(again.status).toBe(202)
  await until('it ran again', () => runs === 2)
  await until('it is processed', () => db.number(PROCESSED))
  await stop()

  const receipts = await db.rows(
    `select received_at > now() - interval '1 minute' as fresh, convert_from(body, 'UTF8') as body from hookonce.receipt`,
  )
  expect(receipts).toEqual([{ fresh: true, body: JSON.stringify({ ...EVENT, amount: 2 }) }])
  expect(await db.rows('select attempt, fence from hookonce.job')).toEqual([{ attempt: 1, fence: 1 }])
  expect(await db.number('select count(*) from hookonce.duplicate')).toBe(0)
})

test('a key has not expired while its job is live', async () => {
  const db = await freshDatabase()
  // There is no worker, so its job waits.
  const { send, stop } = receiving(db)
  await send(EVENT)
  await db.pool.query(AGE)
  expect((await send(EVENT)).status).toBe(200)
  await stop()
  expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'received' }])
  expect(await db.rows('select count from hookonce.duplicate')).toEqual([{ count: 1 }])
})

test('a failed job does not keep a key alive', async () => {
  const db = await freshDatabase()
  const { send } = receiving(db)
  await send(EVENT)
  await db.pool.query(`${AGE}; update hookonce.job set state = 'failed', finished_at = now(), fence = 5`)
  expect((await send(EVENT)).status).toBe(202)
  expect(await db.rows('select state, fence from hookonce.job')).toEqual([{ state: 'received', fence: 0 }])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test('simultaneous copies of an expired event are recorded once', async () => {
  const db = await freshDatabase()
  const here = receiving(db)
  const there = receiving(db)
  await here.send(EVENT)
  await there.hooks.ledger('test')
  await db.pool.query(`${AGE}; update hookonce.job set state = 'processed', finished_at = now()`)
  const copies = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? here : there).send(EVENT))
  const statuses = (await Promise.all(copies)).map((answer) => answer.status)
  expect(statuses.filter((status) => status === 202)).toHaveLength(1)
  expect(statuses.filter((status) => status === 200)).toHaveLength(19)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  expect(await db.number('select count(*) from hookonce.job')).toBe(1)
})

test('a repeat is still compared with a body that was deleted', async () => {
  const db = await freshDatabase()
  const { hooks, send, stop } = receiving(db, { sources: { test: testSource({ mismatch: 'reject' }) } })
  await send(EVENT)
  // Past the retention of bodies, but not of keys.
  await db.pool.query(`update hookonce.receipt set received_at = received_at - interval '40 days';
    update hookonce.job set state = 'processed', finished_at = now()`)
  await pruneReceipts(await hooks.ledger('test'))
  expect(await db.rows('select body, headers from hookonce.receipt')).toEqual([{ body: null, headers: null }])
  expect((await send(EVENT)).status).toBe(200)
  expect((await send({ ...EVENT, amount: 2 })).status).toBe(409)
  await stop()
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: 2, mismatches: 1 },
  ])
})

test('a body that was deleted by hand does not make a repeat new, and does not block the others', async () => {
  const db = await freshDatabase()
  const { send } = receiving(db)
  await send(EVENT)
  await db.pool.query('update hookonce.receipt set body = null, headers = null, body_sha256 = null')
  const answers = await Promise.all([send(EVENT), send({ ...EVENT, id: 'evt_2' })])
  expect(answers.map((answer) => answer.status)).toEqual([200, 202])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
})
