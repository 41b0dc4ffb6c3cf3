import { describe, expect, test } from 'vitest'
import type { Queryable } from '../../../src/ledger/driver/statement.ts'
import { insertReceipts } from '../../../src/ledger/jobs/accept.ts'
import { claimProbe } from '../../../src/ledger/jobs/circuits.ts'
import {
  claimJobs,
  claimSuspect,
  dueShards,
  dueSuspects,
  putOffSuspect,
} from '../../../src/ledger/jobs/claim.ts'
import { idleOrderKeys, releaseNextJobs } from '../../../src/ledger/jobs/order.ts'
import { addMissingJobs, failedJobs, replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { jobsLeasedTo, rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { retryingJobs, retryNow } from '../../../src/ledger/jobs/retry-now.ts'
import { servedSubscribers } from '../../../src/ledger/jobs/served.ts'
import { discardWaiting, moveWaiting, waitingTypes } from '../../../src/ledger/jobs/waiting-jobs.ts'
import { stoppedSince } from '../../../src/ledger/read/changes.ts'
import { liveWorkers } from '../../../src/ledger/read/workers.ts'
import { BURIED_AT } from '../../../src/model/suspects.ts'
import { idOf, LEASED, type SeededLedger, seededLedger } from '../../support/seeded-ledger.ts'

/*
 * Every statement that selects jobs takes only jobs in its states, skips locked jobs, and does not
 * act on outdated reads.
 */

/** Due, and in flight in this many crashes. */
const suspect = (state = 'retrying') => ({ state, crashes: 3, due_at: new Date(0) })

const claim = (subscriber: number) => ({ shard: 0, worker: 9, slots: new Map([[subscriber, 10]]) })

const PAUSED = { tenant: 'default', source: 'test', name: 'paused', pattern: '*' }

type Pick = (db: Queryable, ledger: SeededLedger) => Promise<unknown[]>

const waitingBatch = ({ subscriber }: SeededLedger) => ({
  shard: 0,
  subscriber,
  limit: 10,
  reason: 'said so',
})

/** The selection of each statement, the state in which it takes a job, and the job afterwards. */
const picks: [name: string, columns: Record<string, unknown>, pick: Pick, after: Record<string, string>][] = [
  [
    'claim',
    { state: 'received' },
    (db, { subscriber }) => claimJobs(db, claim(subscriber)),
    { state: 'processing', fence: '1', worker: '9' },
  ],
  [
    'claim_suspect',
    suspect(),
    async (db, { subscriber }) => {
      const claimed = await claimSuspect(db, { shard: 0, receiptId: idOf(1), subscriber }, 9)
      return claimed ? [claimed] : []
    },
    { state: 'processing', fence: '1', worker: '9' },
  ],
  [
    'claim_probe',
    { state: 'received' },
    async (db, { subscriber, row, db: { number } }) => {
      await row('limiter', { name: 'seeded', has_circuit: true, state: 'open', probe_at: new Date(0) })
      const limiter = await number('select id from hookonce.limiter')
      const probe = await claimProbe(db, { shard: 0, subscriber, limiter, worker: 9, withinMs: 1e6 })
      return probe ? [probe] : []
    },
    { state: 'processing', fence: '1', worker: '9' },
  ],
  [
    'put_off_suspect',
    suspect(),
    async (db, { subscriber }) => {
      const found = await putOffSuspect(db, { shard: 0, subscribers: [subscriber], ms: 1_000 })
      return found ? [found] : []
    },
    { state: 'retrying' },
  ],
  [
    'rescue',
    LEASED,
    (db) => rescueJobs(db, { shard: 0, deadWorkers: [7], limit: 10, isCrash: true }),
    { state: 'retrying', fence: '4', crashes: '1' },
  ],
  [
    'discard_waiting',
    { state: 'retrying' },
    (db, ledger) => discardWaiting(db, waitingBatch(ledger)),
    { state: 'failed', reason: 'said so' },
  ],
  [
    'move_waiting',
    { state: 'retrying' },
    (db, ledger) => moveWaiting(db, { ...waitingBatch(ledger), to: 99, types: ['x'], begun: true }),
    { state: 'processed', reason: 'said so' },
  ],
]

describe.each(picks)('%s', (_, columns, pick, after) => {
  test('takes a job in its state', async () => {
    const ledger = await seededLedger()
    await ledger.job(1, columns)
    expect(await pick(ledger.db.pool, ledger)).toHaveLength(1)
    const found = await ledger.db.rows(
      `select ${Object.keys(after)
        .map((column) => `${column}::text`)
        .join(', ')} from hookonce.job where receipt_id = $1 and subscriber = $2`,
      [idOf(1), ledger.subscriber],
    )
    expect(found).toEqual([after])
  })

  test('takes no job in another state', async () => {
    const ledger = await seededLedger()
    const states = ['received', 'processing', 'retrying', 'processed', 'failed', 'attention']
    const mine = columns.state === 'processing' ? ['processing'] : ['received', 'retrying']
    for (const [index, state] of states.filter((other) => !mine.includes(other)).entries())
      await ledger.job(index + 1, { ...columns, state })
    const before = await ledger.db.rows('select * from hookonce.job order by receipt_id')
    expect(await pick(ledger.db.pool, ledger)).toEqual([])
    expect(await ledger.db.rows('select * from hookonce.job order by receipt_id')).toEqual(before)
  })

  test('skips a locked job, without waiting', async () => {
    const ledger = await seededLedger()
    await ledger.job(1, columns)
    await ledger.locked('job', `receipt_id = '${idOf(1)}'`)
    expect(await ledger.withoutWaiting((client) => pick(client, ledger))).toEqual([])
  })
})

test('a move leaves jobs that ran before, unless they are wanted', async () => {
  const ledger = await seededLedger()
  const move = { ...waitingBatch(ledger), to: 99, types: ['x'] }
  await ledger.job(1, { state: 'retrying', fence: 2 })
  await ledger.job(2, { state: 'received' })
  const moved = async (begun: boolean) =>
    (await moveWaiting(ledger.db.pool, { ...move, begun })).map(({ receiptId }) => receiptId)
  expect(await moved(false)).toEqual([idOf(2)])
  expect(await moved(true)).toEqual([idOf(1)])
})

describe('retrying now', () => {
  const later = { attempt: 2, due_at: new Date(Date.now() + 3_600_000) }

  test('takes only jobs that wait for another attempt', async () => {
    const { db, job, subscriber } = await seededLedger()
    const states = ['retrying', 'received', 'processing', 'processed', 'failed', 'attention']
    for (const [index, state] of states.entries()) await job(index + 1, { ...later, state })
    const listed = await retryingJobs(db.pool, { shard: 0, limit: 10 })
    expect(listed.map(({ receiptId }) => receiptId)).toEqual([idOf(1)])
    const all = states.map((_, index) => ({ receiptId: idOf(index + 1), subscriber }))
    expect(await retryNow(db.pool, 0, all)).toBe(1)
    expect(await db.rows('select receipt_id from hookonce.job where due_at <= now()')).toEqual([
      { receipt_id: idOf(1) },
    ])
  })

  test('skips a job that another transaction holds, without waiting', async () => {
    const { job, locked, withoutWaiting } = await seededLedger()
    const waiting = await job(1, { ...later, state: 'retrying' })
    await locked('job', `receipt_id = '${idOf(1)}'`)
    expect(await withoutWaiting((client) => retryNow(client, 0, [waiting]))).toBe(0)
  })
})

test('an accept returns the jobs that it could not lease, and no others', async () => {
  const { db, subscriber, row } = await seededLedger()
  await row('worker', { host: 'test', pid: 1, lease_until: new Date(Date.now() + 1e6) })
  const worker = await db.number('select id from hookonce.worker')
  await row('subscriber', { ...PAUSED, paused_at: new Date() })
  const paused = await db.number('select max(id) from hookonce.subscriber')
  const receipt = {
    id: idOf(1),
    shard: 0,
    tenant: 'default',
    source: 'test',
    eventKey: 'evt_1',
    eventType: 'x',
    objectId: undefined,
    occurredAtMs: undefined,
    secret: 1,
    headers: '',
    body: Buffer.from('{}'),
    keySeconds: 60,
  }
  const jobs = [subscriber, paused].map((each) => ({ subscriber: each, bornLeased: true, lane: undefined }))
  const unusual = await insertReceipts(db.pool, [{ receipt, jobs }], { worker, shards: 16 })
  expect(unusual).toEqual([{ id: idOf(1), held: paused }])
  expect(await db.rows('select subscriber, state from hookonce.job order by subscriber')).toEqual([
    { subscriber, state: 'processing' },
    { subscriber: paused, state: 'received' },
  ])
})

test('only jobs that wait for a run are due', async () => {
  const { db, subscriber, job } = await seededLedger()
  for (const [index, state] of ['processing', 'processed', 'failed', 'attention'].entries())
    for (const [suspects, columns] of [{ state }, suspect(state)].entries())
      await job(10 * suspects + index, columns)
  expect(await dueShards(db.pool, { shards: 16, subscribers: [subscriber] })).toEqual([])
  expect(await dueSuspects(db.pool, [subscriber])).toEqual([])
  await job(20, { state: 'retrying' })
  await job(21, suspect())
  expect(await dueShards(db.pool, { shards: 16, subscribers: [subscriber] })).toHaveLength(1)
  expect(await dueSuspects(db.pool, [subscriber])).toHaveLength(1)
})

test('only jobs that an operator must look at have stopped', async () => {
  const { db, job } = await seededLedger()
  const states = ['received', 'processing', 'retrying', 'processed', 'failed', 'attention']
  for (const [index, state] of states.entries())
    await job(index + 1, { state, finished_at: new Date(index * 1_000) })
  const stopped = await stoppedSince(db.pool, { shards: 16, since: new Date(0), limit: 10 })
  expect(stopped.map(({ state }) => state)).toEqual(['failed', 'attention'])
})

test('a worker holds the jobs that it processes, not those it has finished', async () => {
  const { db, job, row } = await seededLedger()
  await row('worker', { host: 'test', pid: 1, lease_until: new Date(Date.now() + 1e6) })
  const worker = await db.number('select id from hookonce.worker')
  const leased = { ...LEASED, worker, started_at: new Date(0) }
  await job(1, leased)
  await job(2, { ...leased, state: 'processed' })
  const held = await jobsLeasedTo(db.pool, { shards: 16, worker, olderThanMs: 1_000 })
  expect(held.map(({ receiptId }) => receiptId)).toEqual([idOf(1)])
  expect(await liveWorkers(db.pool, 16)).toMatchObject([{ id: worker, jobs: 1 }])
})

describe('a rescue', () => {
  const effect = (state: string, number: number, subscriber: number) => ({
    shard: 0,
    id: idOf(900 + number),
    tenant: 'default',
    key: `mail:${number}`,
    receipt_id: idOf(number),
    subscriber,
    fence: 3,
    epoch: 0,
    mode: 'atMostOnce',
    downstream_key: 'k',
    state,
  })
  const dead = { shard: 0, deadWorkers: [7], limit: 10, isCrash: true }

  test('requires a person only for a job that would be buried with an open outcome', async () => {
    const { db, subscriber, job, row, jobIs } = await seededLedger()
    await job(1, { ...LEASED, crashes: BURIED_AT - 1 })
    await row('effect', effect('started', 1, subscriber))
    await job(2, { ...LEASED, crashes: BURIED_AT - 1 })
    await row('effect', effect('done', 2, subscriber))
    await job(3, LEASED)
    await row('effect', effect('started', 3, subscriber))
    await rescueJobs(db.pool, dead)
    expect(await jobIs(1, 'state')).toEqual({ state: 'attention' })
    expect(await jobIs(2, 'state')).toEqual({ state: 'failed' })
    expect(await jobIs(3, 'state')).toEqual({ state: 'retrying' })
    expect(await db.rows('select receipt_id from hookonce.attention')).toEqual([{ receipt_id: idOf(1) }])
  })
})

describe('a replay', () => {
  const replay = (...numbers: number[]) => ({
    shard: 0,
    receiptIds: numbers.map(idOf),
    subscribers: undefined,
    states: ['processed', 'failed'] as const,
  })

  test('takes only finished jobs, and keeps the run of a job that ended well', async () => {
    const { db, job, jobIs } = await seededLedger()
    const finished = { attempt: 2, fence: 5, started_at: new Date(0), finished_at: new Date() }
    await job(1, { ...finished, state: 'processed' })
    await job(2, { ...finished, state: 'failed' })
    await job(3, { ...finished, state: 'processing' })
    await job(4, { ...finished, state: 'attention' })
    expect(await replayJobs(db.pool, replay(1, 2, 3, 4))).toBe(2)
    expect(await jobIs(1, 'state', 'attempt')).toEqual({ state: 'received', attempt: '0' })
    expect(await jobIs(2, 'state', 'attempt')).toEqual({ state: 'received', attempt: '0' })
    expect(await jobIs(3, 'state', 'attempt')).toEqual({ state: 'processing', attempt: '2' })
    expect(await jobIs(4, 'state', 'attempt')).toEqual({ state: 'attention', attempt: '2' })
    expect(await db.rows('select receipt_id, outcome from hookonce.attempt')).toEqual([
      { receipt_id: idOf(1), outcome: 'processed' },
    ])
  })

  test('holds the receipts, so that no sweep removes them, until its transaction ends', async () => {
    const { job, inOpenTransaction, isLocked } = await seededLedger()
    await job(1, { state: 'failed' })
    const { receiptId } = await job(2)
    await inOpenTransaction((client) => replayJobs(client, replay(1)))
    await inOpenTransaction((client) => addMissingJobs(client, { shard: 0, receiptId, subscribers: [99] }))
    for (const number of [1, 2]) expect(await isLocked('receipt', `id = '${idOf(number)}'`)).toBe(true)
  })

  test('skips a job that another transaction replays at that moment', async () => {
    const { db, job, jobIs, locked } = await seededLedger()
    await job(1, { state: 'failed', attempt: 2, fence: 5 })
    const other = await locked('job', `receipt_id = '${idOf(1)}'`)
    await other.change(`state = 'processing', attempt = 1, fence = 6`)
    const replayed = replayJobs(db.pool, replay(1))
    await other.awaited()
    await other.commit()
    expect(await replayed).toBe(0)
    expect(await jobIs(1, 'state', 'attempt', 'fence')).toEqual({
      state: 'processing',
      attempt: '1',
      fence: '6',
    })
  })

  test('of all failed jobs leaves out jobs that wait for a person', async () => {
    const { db, job } = await seededLedger()
    await job(1, { state: 'failed', finished_at: new Date() })
    await job(2, { state: 'attention', finished_at: new Date() })
    const failed = await failedJobs(db.pool, { shard: 0, limit: 10 })
    expect(failed.map(({ receiptId }) => receiptId)).toEqual([idOf(1)])
  })
})

describe('an order key', () => {
  const KEY = idOf(800)
  const inOrder = (seq: number, columns: Record<string, unknown>) => ({
    lane: KEY,
    lane_seq: seq,
    due_at: 'infinity',
    ...columns,
  })
  const orderKey = { shard: 0, id: KEY, seq: 9, added: 0 }

  test('continues after a finished job, with the next that waits', async () => {
    const { db, job, jobIs, row } = await seededLedger()
    await row('lane', orderKey)
    await job(1, inOrder(1, { state: 'processed', due_at: new Date(0) }))
    await job(2, inOrder(2, { state: 'failed' }))
    await job(3, inOrder(3, { state: 'received' }))
    expect(await idleOrderKeys(db.pool, 0, 10)).toEqual([KEY])
    expect(await releaseNextJobs({ pool: db.pool, shards: 16 }, [KEY])).toBe(1)
    expect(await jobIs(2, 'due_at')).toEqual({ due_at: 'infinity' })
    expect(await jobIs(3, 'due_at')).not.toEqual({ due_at: 'infinity' })
    expect(await idleOrderKeys(db.pool, 0, 10)).toEqual([])
  })

  test('does not release a job that another transaction fails at that moment', async () => {
    const { db, job, jobIs, row, locked } = await seededLedger()
    await row('lane', orderKey)
    await job(1, inOrder(1, { state: 'received' }))
    const discarded = await locked('job', `receipt_id = '${idOf(1)}'`)
    await discarded.change(`state = 'failed'`)
    const passed = releaseNextJobs({ pool: db.pool, shards: 16 }, [KEY])
    await discarded.awaited()
    await discarded.commit()
    expect(await passed).toBe(0)
    expect(await jobIs(1, 'state', 'due_at')).toEqual({ state: 'failed', due_at: 'infinity' })
  })

  test('waits for a transaction that adds a job to it', async () => {
    const { db, job, row, locked } = await seededLedger()
    await row('lane', orderKey)
    await job(1, inOrder(1, { state: 'received' }))
    const added = await locked('lane', `id = '${KEY}'`)
    const passed = releaseNextJobs({ pool: db.pool, shards: 16 }, [KEY])
    await added.awaited()
    expect(await db.number(`select count(*) from hookonce.job where due_at < 'infinity'`)).toBe(0)
    await added.commit()
    expect(await passed).toBe(1)
  })
})

test('waiting jobs are counted by state', async () => {
  const { db, subscriber, job } = await seededLedger()
  await job(1, { state: 'received' })
  await job(2, { state: 'retrying', fence: 2 })
  for (const [index, state] of ['processing', 'processed', 'failed', 'attention'].entries())
    await job(index + 3, { state, fence: 1 })
  expect(await waitingTypes(db.pool, 16, subscriber)).toEqual([{ type: 'x', jobs: 2, begun: 1 }])
  expect(await servedSubscribers(db.pool, 16)).toMatchObject([{ waiting: 2, begun: 1 }])
})
