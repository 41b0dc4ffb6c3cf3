import type { PoolClient } from 'pg'
import { expect, test } from 'vitest'
import {
  type ClaimedLane,
  claimLanes,
  claimSuspectLane,
  dueLanes,
  type LaneSettlement,
  putOffLane,
  rescueLanes,
  settleLanes,
} from '../../../src/ledger/outbox/lanes.ts'
import { addMessages, firstWaiting } from '../../../src/ledger/outbox/messages.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { commitMessages, newMessage } from '../../support/outbox.ts'
import { until } from '../../support/until.ts'

/* The lanes of the outbox in the ledger: actions of two processes at the same time. */

const keyed = (id: string) => newMessage(id, { key: 'k' })
const { shard } = keyed('any')

async function claim(db: TestDatabase, { worker = 1, suspects = false } = {}): Promise<ClaimedLane[]> {
  return claimLanes(db.pool, { shard, worker, slots: new Map([['t', 10]]), suspects })
}

async function claimOne(db: TestDatabase, worker = 1): Promise<ClaimedLane> {
  const [lane, ...others] = await claim(db, { worker })
  expect(others).toEqual([])
  if (!lane) throw new Error('no lane was there to claim')
  return lane
}

const waiting = async (db: TestDatabase, { lane }: ClaimedLane, limit = 10): Promise<string[]> =>
  (await firstWaiting(db.pool, { shard, lanes: [lane], limit })).map(({ body }) => JSON.parse(body))

function done(lane: ClaimedLane, doneTo = lane.tail): LaneSettlement {
  const left = { attempt: 0, delayMs: 0, reason: undefined }
  return {
    shard,
    lane: lane.lane,
    fence: lane.fence,
    doneTo,
    first: 1,
    attempt: lane.attempt,
    failure: undefined,
    left,
  }
}

const lanes = (db: TestDatabase) =>
  db.rows('select worker, tail::int, attempt, crashes from hookonce.outbox_lane')

/** Runs `first` in a transaction that stays open until `second` waits for its locks. */
async function meanwhile<Result>(
  db: TestDatabase,
  first: (client: PoolClient) => Promise<unknown>,
  second: () => Promise<Result>,
): Promise<Result> {
  const client = await db.pool.connect()
  await client.query('begin')
  await first(client)
  const working = second()
  await until('it waits for the lane', () =>
    db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  )
  await client.query('commit')
  client.release()
  return working
}

test('a message that is added while its lane is settled is neither lost nor stuck', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('m1'))
  const lane = await claimOne(db)
  const [took] = await meanwhile(
    db,
    (client) => addMessages(client, [keyed('m2')]),
    () => settleLanes(db.pool, [done(lane)]),
  )
  expect(took).toBe(true)
  expect(await lanes(db)).toEqual([{ worker: null, tail: 2, attempt: 0, crashes: 0 }])
  const again = await claimOne(db)
  expect(await waiting(db, again)).toEqual(['m2'])
})

test('a message that is added while its lane is being removed makes a new one', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('m1'))
  const lane = await claimOne(db)
  await meanwhile(
    db,
    (client) => settleLanes(client, [done(lane)]),
    () => commitMessages(db, keyed('m2')),
  )
  const again = await claimOne(db)
  expect(again.fence).toBeGreaterThan(lane.fence)
  expect(await waiting(db, again)).toEqual(['m2'])
})

test('the order of a lane is the order of commits, not of ids or of statements', async () => {
  const db = await freshDatabase()
  await meanwhile(
    db,
    (client) => addMessages(client, [keyed('z'), keyed('y')]),
    () => commitMessages(db, keyed('a')),
  )
  expect(await waiting(db, await claimOne(db))).toEqual(['z', 'y', 'a'])
})

test('an old fence matches no lane that was deleted and created again', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('m1'))
  const old = await claimOne(db)
  expect(await settleLanes(db.pool, [done(old)])).toEqual([true])
  await commitMessages(db, keyed('m2'))
  await claimOne(db)
  expect(await settleLanes(db.pool, [done(old)])).toEqual([false])
  expect(await db.rows(`select payload, state::text from hookonce.outbox order by payload::text`)).toEqual([
    { payload: 'm1', state: 'published' },
    { payload: 'm2', state: 'waiting' },
  ])
})

test('a message that is added twice under one id exists once, and the empty place blocks nothing', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('m1'))
  const lane = await claimOne(db)
  await settleLanes(db.pool, [done(lane)])
  await commitMessages(db, keyed('m1'))
  const empty = await claimOne(db)
  expect(await waiting(db, empty)).toEqual([])
  await settleLanes(db.pool, [done(empty)])
  expect(await lanes(db)).toEqual([])
})

test('one lane is leased to one relay; lanes of unknown topics are not', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('m1'), newMessage('other', { topic: 'unknown' }))
  const claims = await Promise.all([1, 2, 3, 4].map((worker) => claim(db, { worker })))
  expect(claims.flat()).toHaveLength(1)
  expect(await claim(db)).toEqual([])
  expect((await dueLanes(db.pool, 16)).map(({ topics }) => topics)).toEqual([['unknown']])
})

test('a rescued lane is due later, under a new fence, and its first message fails after five crashes', async () => {
  const db = await freshDatabase()
  await commitMessages(db, keyed('poison'), keyed('next'))
  const rescue = () => rescueLanes(db.pool, { shard, deadWorkers: [1], limit: 10, isCrash: true })
  const stale = await claimOne(db)
  expect(await rescue()).toMatchObject([{ messageId: keyed('poison').id, buried: false, attempt: 1 }])
  expect(await settleLanes(db.pool, [done(stale)])).toEqual([false])
  expect(await claim(db, { suspects: true })).toEqual([])
  for (const crash of [2, 3]) {
    await db.rows('update hookonce.outbox_lane set due_at = now()')
    expect(await claim(db)).toEqual([])
    expect(await claim(db, { suspects: true })).toMatchObject([{ crashes: crash - 1, attempt: crash }])
    expect(await rescue()).toMatchObject([{ key: 'k', buried: false }])
  }
  for (const crash of [4, 5]) {
    await db.rows('update hookonce.outbox_lane set due_at = now()')
    expect([...(await claim(db)), ...(await claim(db, { suspects: true }))]).toEqual([])
    expect(await dueLanes(db.pool, 16)).toMatchObject([{ topics: [], suspects: [], alone: ['t'] }])
    const asking = { shard, topics: ['t'], ms: 60_000 }
    const put = await putOffLane(db.pool, asking)
    expect(await putOffLane(db.pool, asking)).toBeUndefined()
    if (!put) throw new Error('the lane was put off for nobody')
    expect(await claimSuspectLane(db.pool, put, 1)).toMatchObject({ crashes: crash - 1, attempt: crash })
    expect(await rescue()).toMatchObject([{ buried: crash === 5 }])
  }
  expect(
    await db.rows(`select payload, state::text, attempts, reason from hookonce.outbox order by seq`),
  ).toEqual([
    { payload: 'poison', state: 'failed', attempts: 5, reason: expect.stringMatching(/^POISON: 5 relays/) },
    { payload: 'next', state: 'waiting', attempts: 0, reason: null },
  ])
  expect(await waiting(db, await claimOne(db))).toEqual(['next'])
})
