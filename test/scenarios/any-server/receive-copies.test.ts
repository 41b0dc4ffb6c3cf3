import { createHash } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import type { NewWork } from '../../../src/ledger/jobs/new-work.ts'
import { type Accepted, acceptReceipts } from '../../../src/ledger/receipts/receipts.ts'
import { receiptIds, shardOf } from '../../../src/model/receipt-id.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

const COPIES = 200

async function stopped(...apps: Awaited<ReturnType<typeof startApp>>[]): Promise<void> {
  for (const app of apps) app.kill('SIGTERM')
  for (const app of apps) expect(await app.exited()).toBe(0)
}

const processed = (db: TestDatabase): Promise<unknown> =>
  until('it is processed', () => db.number(`select count(*) from hookonce.job where state = 'processed'`))

test('200 copies at once through two receivers are one receipt, one job, one run, one effect', async () => {
  const db = await freshDatabase()
  const apps = await Promise.all([startApp(db), startApp(db)])
  const [one, other] = apps
  const event = { id: 'evt_1', type: 'count.a' }
  const answers = await Promise.all(
    Array.from({ length: COPIES }, (_, n) => (n % 2 === 0 ? one : other).send(event)),
  )
  const statuses = answers.map((answer) => answer.status)
  expect(statuses.filter((status) => status === 202)).toHaveLength(1)
  expect(statuses.filter((status) => status === 200)).toHaveLength(COPIES - 1)
  const ids = await Promise.all(
    answers.map(async (answer) => ((await answer.json()) as { receipt: string }).receipt),
  )
  expect(new Set(ids).size).toBe(1)
  await processed(db)
  await stopped(...apps)

  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  expect(await db.rows('select state, attempt from hookonce.job')).toEqual([
    { state: 'processed', attempt: 1 },
  ])
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: COPIES - 1, mismatches: 0 },
  ])
  expect(await db.number('select count(*) from run')).toBe(1)
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('200 copies, half with another body: the first stays and the others are mismatches', async () => {
  const db = await freshDatabase()
  const apps = await Promise.all([startApp(db), startApp(db)])
  const [one, other] = apps
  const answers = await Promise.all(
    Array.from({ length: COPIES }, (_, n) =>
      (n % 2 === 0 ? one : other).send({ id: 'evt_1', type: 'count.a', variant: n % 4 < 2 ? 'a' : 'b' }),
    ),
  )
  expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1)
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(COPIES - 1)
  await processed(db)
  await stopped(...apps)

  const bodies = ['a', 'b'].map((variant) => JSON.stringify({ id: 'evt_1', type: 'count.a', variant }))
  const [receipt] = await db.rows<{ body: string }>(
    `select convert_from(body, 'UTF8') as body from hookonce.receipt`,
  )
  expect(bodies).toContain(receipt?.body)
  const loser = bodies.find((body) => body !== receipt?.body) ?? ''
  expect(
    await db.rows(`select count, mismatches, encode(mismatch_sha256, 'hex') as hash from hookonce.duplicate`),
  ).toEqual([
    { count: COPIES - 1, mismatches: COPIES / 2, hash: createHash('sha256').update(loser).digest('hex') },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
})

/** The same batch in two orders over two connections, as from two receivers. */
async function inOppositeOrders(db: TestDatabase, batch: readonly NewWork[]): Promise<Accepted[]> {
  const pools = [batch, [...batch].reverse()].map((order) => ({
    order,
    // A closing connection may still receive the error that its database was dropped.
    pool: new pg.Pool({ connectionString: db.url, max: 1 }).on('error', () => undefined),
  }))
  try {
    await Promise.all(pools.map(({ pool }) => pool.query('select')))
    return (
      await Promise.all(
        pools.map(({ pool, order }) => acceptReceipts(pool, order, { worker: undefined, shards: 16 })),
      )
    ).flat()
  } finally {
    await Promise.all(pools.map(({ pool }) => pool.end()))
  }
}

const receiptId = receiptIds('default', 'test')

function workOf(eventKey: string): NewWork {
  const id = receiptId(eventKey)
  const receipt = {
    id,
    shard: shardOf(id, 16),
    tenant: 'default',
    source: 'test',
    eventKey,
    eventType: 'a',
    objectId: undefined,
    occurredAtMs: undefined,
    secret: 1,
    headers: '',
    body: Buffer.from('{}'),
    keySeconds: 1_000,
  }
  return { receipt, jobs: [] }
}

const BATCH = 200

test('two receivers that record the same events in opposite order do not deadlock', async () => {
  const db = await freshDatabase()
  for (let round = 0; round < 5; round += 1) {
    const batch = Array.from({ length: BATCH }, (_, n) => workOf(`evt_${round}_${n}`))
    const outcomes = await inOppositeOrders(db, batch)
    expect(outcomes.filter(({ outcome }) => outcome === 'recorded')).toHaveLength(BATCH)
    // The losing receiver got the hash of the recorded body, although it was committed after the
    // receiver's statement began.
    const known = outcomes.filter((outcome) => outcome.outcome === 'known')
    expect(known).toHaveLength(BATCH)
    expect(new Set(known.map(({ bodySha256 }) => Buffer.from(bodySha256).toString('hex')))).toEqual(
      new Set([createHash('sha256').update('{}').digest('hex')]),
    )
  }
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(5 * BATCH)
})

test('two receivers that find the same keys expired in opposite order do not deadlock', async () => {
  const db = await freshDatabase()
  const batch = Array.from({ length: BATCH }, (_, n) => workOf(`evt_${n}`))
  await acceptReceipts(db.pool, batch, { worker: undefined, shards: 16 })
  for (let round = 0; round < 5; round += 1) {
    await db.pool.query(`update hookonce.receipt set received_at = now() - interval '1 day'`)
    const outcomes = await inOppositeOrders(db, batch)
    expect(outcomes.filter(({ outcome }) => outcome === 'recorded')).toHaveLength(BATCH)
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(BATCH)
  }
})
