import { expect, test } from 'vitest'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { heartbeat, retireWorker } from '../../../src/ledger/jobs/workers.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { claimLanes } from '../../../src/ledger/outbox/lanes.ts'
import {
  type ChoreFact,
  type MessageFact,
  observers,
  type RescueFact,
  type TroubleFact,
} from '../../../src/observe/observer.ts'
import { rescue } from '../../../src/upkeep/rescue.ts'
import { startUpkeep } from '../../../src/upkeep/upkeep.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { commitMessages, newMessage } from '../../support/outbox.ts'
import { seedEnlisted, seedJobs, seedWorker } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

const deaf = observers([])
/** Like a process that has reached the ledger for long. */
const heard = { observer: deaf, contactMs: 3_600_000 }

function ledgerOf(db: TestDatabase, pool: Pick<LedgerTables['pool'], 'query'> = db.pool): LedgerTables {
  return { pool: pool as LedgerTables['pool'], shards: 16 }
}

async function leaseAll(db: TestDatabase, worker: number, subscriber: number): Promise<void> {
  for (let shard = 0; shard < 16; shard += 1)
    await claimJobs(db.pool, { shard, worker, slots: new Map([[subscriber, 100]]) })
}

const STATES = 'select state::text, count(*)::int from hookonce.job group by 1 order by 1'

test('only the jobs of workers whose lease and grace are over are rescued', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 20)
  const silent = await seedEnlisted(db)
  await leaseAll(db, silent.id, subscriber)
  await seedJobs(db, 10)
  const alive = await seedEnlisted(db)
  await leaseAll(db, alive.id, subscriber)
  const late = await seedEnlisted(db)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 minute' where id = $1`, [
    silent.id,
  ])
  // Past its lease, but a heartbeat may be in transit.
  await db.rows(`update hookonce.worker set lease_until = now() where id = $1`, [late.id])

  expect(await rescue(ledgerOf(db), heard)).toBe(20)

  expect(await db.rows(STATES)).toEqual([
    { state: 'processing', count: 10 },
    { state: 'retrying', count: 20 },
  ])
  expect(await db.rows('select id from hookonce.worker where dead_at is not null')).toEqual([
    { id: silent.id },
  ])
  expect(await heartbeat(db.pool, silent, 30_000)).toBe(false)
  expect(await heartbeat(db.pool, alive, 30_000)).toBe(true)
  expect(await heartbeat(db.pool, late, 30_000)).toBe(true)
})

test('jobs that a retired worker still held are rescued at once, without a suspect', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5)
  const worker = await seedEnlisted(db)
  await leaseAll(db, worker.id, subscriber)
  await retireWorker(db.pool, worker)
  expect(await rescue(ledgerOf(db), { ...heard, contactMs: 0 })).toBe(5)
  expect(
    await db.rows('select distinct state::text, crashes, due_at <= now() as due from hookonce.job'),
  ).toEqual([{ state: 'retrying', crashes: 0, due: true }])
})

test('a worker neither renews nor retires the row of another one with the same id', async () => {
  const db = await freshDatabase()
  const worker = await seedEnlisted(db)
  const other = { ...worker, startedAt: (await seedEnlisted(db)).startedAt }
  expect(await heartbeat(db.pool, other, 30_000)).toBe(false)
  await retireWorker(db.pool, other)
  expect(await heartbeat(db.pool, worker, 30_000)).toBe(true)
})

test('after an outage no worker is declared dead before it could have renewed its lease', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5)
  const worker = await seedEnlisted(db, 30_000)
  await leaseAll(db, worker.id, subscriber)
  // No process could reach the ledger for an hour.
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 hour'`)

  expect(await rescue(ledgerOf(db), { ...heard, contactMs: 29_999 })).toBe(0)
  expect(await heartbeat(db.pool, worker, 30_000)).toBe(true)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 hour'`)
  expect(await rescue(ledgerOf(db), { ...heard, contactMs: 30_000 })).toBe(5)
})

test('a rescue is reported with the names of the event and the job', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1)
  await db.rows(`update hookonce.receipt set object_id = 'in_1'`)
  const worker = await seedWorker(db)
  await leaseAll(db, worker, subscriber)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 minute'`)
  const facts: RescueFact[] = []
  const observer = observers([{ rescue: (fact) => void facts.push(fact) }])
  expect(await rescue(ledgerOf(db), { ...heard, observer })).toBe(1)
  const [receipt] = await db.rows<{ id: string; key: string }>(
    'select id, event_key as key from hookonce.receipt',
  )
  expect(facts).toEqual([
    {
      receiptId: receipt?.id,
      source: 'test',
      subscriber: 'app',
      eventKey: receipt?.key,
      eventType: 'count.seed',
      objectId: 'in_1',
      attempt: 1,
      buried: false,
      needsPerson: false,
    },
  ])
})

test('a message whose relay died is reported with its topic and its key', async () => {
  const db = await freshDatabase()
  const message = newMessage('m1', { key: 'invoice 7' })
  await commitMessages(db, message)
  const worker = await seedWorker(db)
  await claimLanes(db.pool, { shard: message.shard, worker, slots: new Map([['t', 1]]), suspects: false })
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 minute'`)
  const facts: MessageFact[] = []
  const observer = { ...deaf, message: (fact: MessageFact) => void facts.push(fact) }

  await rescue(ledgerOf(db), { ...heard, observer })

  expect(facts).toEqual([
    { messageId: message.id, topic: 't', key: 'invoice 7', attempt: 1, durationMs: 0, outcome: 'crashed' },
  ])
})

test('a worker is not forgotten before its jobs are rescued, even if the rescue is interrupted', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 30)
  const worker = await seedWorker(db)
  await leaseAll(db, worker, subscriber)
  // All processes were down for two days.
  await db.rows(
    `update hookonce.worker set lease_until = now() - interval '2 days', dead_at = now() - interval '2 days'`,
  )
  let rescues = 0
  const breaking = {
    query: async (query: { name?: string; text: string; values: unknown[] }) => {
      if (query.name === 'hookonce_rescue' && ++rescues === 3) throw new Error('connection reset')
      return db.pool.query(query)
    },
  }
  await expect(rescue(ledgerOf(db, breaking as Pick<LedgerTables['pool'], 'query'>), heard)).rejects.toThrow()

  await rescue(ledgerOf(db), heard)

  expect(await db.rows(STATES)).toEqual([{ state: 'retrying', count: 30 }])
  expect(await db.number('select count(*) from hookonce.worker')).toBe(0)
})

test('a process that had no contact itself declares no worker dead until it has contact again', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5)
  const worker = await seedWorker(db)
  await leaseAll(db, worker, subscriber)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 minute'`)
  let asked = 0
  let contactMs = 0
  const upkeep = startUpkeep(ledgerOf(db), {
    leaseMs: 30,
    observer: deaf,
    contactMs: () => {
      asked += 1
      return contactMs
    },
  })
  try {
    await until('a rescue was due several times', () => asked > 5)
    expect(await db.rows(STATES)).toEqual([{ state: 'processing', count: 5 }])
    contactMs = 30_000
    await until(
      'the jobs are rescued',
      async () =>
        (await db.rows(STATES)).length === 1 &&
        (await db.number(`select count(*) from hookonce.job where state = 'retrying'`)) === 5,
    )
  } finally {
    await upkeep.stop()
  }
})

test('a chore reports its failures and results by its name, and is tried again', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5)
  const worker = await seedWorker(db)
  await leaseAll(db, worker, subscriber)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 minute'`)
  const troubles: TroubleFact[] = []
  const results: ChoreFact[] = []
  const done = (): ChoreFact[] => results.filter(({ result }) => result !== undefined)
  let broken = true
  const breaking = {
    query: async (query: { text: string; values: unknown[] }) => {
      if (broken) throw new Error('connection reset')
      return db.pool.query(query)
    },
  }
  const upkeep = startUpkeep(ledgerOf(db, breaking as Pick<LedgerTables['pool'], 'query'>), {
    leaseMs: 30,
    observer: {
      ...deaf,
      trouble: (fact) => void troubles.push(fact),
      chore: (fact) => void results.push(fact),
    },
    contactMs: () => 30_000,
  })
  try {
    const isTold = (name: string): boolean => troubles.some(({ doing }) => doing === `upkeep: ${name}`)
    await until('both failed', () => isTold('rescue') && isTold('wake-ordered-jobs'))
    expect(results).toContainEqual({
      name: 'rescue',
      durationMs: expect.any(Number),
      error: new Error('connection reset'),
    })
    broken = false
    await until('the jobs are rescued', () =>
      db.number(`select count(*) from hookonce.job where state = 'retrying'`),
    )
    await until('both were finished', () => new Set(done().map(({ name }) => name)).size === 2)
  } finally {
    await upkeep.stop()
  }
  const rescues = done().filter(({ name }) => name === 'rescue')
  expect(rescues[0]).toEqual({ name: 'rescue', durationMs: expect.any(Number), result: { rescued: 5 } })
  expect(results).toContainEqual({
    name: 'wake-ordered-jobs',
    durationMs: expect.any(Number),
    result: { jobs: 0 },
  })
})
