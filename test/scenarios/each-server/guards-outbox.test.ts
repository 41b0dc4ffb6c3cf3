import { describe, expect, test } from 'vitest'
import {
  claimLanes,
  type LaneSettlement,
  putOffLane,
  rescueLanes,
  retryLaneNow,
  settleLanes,
} from '../../../src/ledger/outbox/lanes.ts'
import { firstWaiting, replayMessages, sweepMessages } from '../../../src/ledger/outbox/messages.ts'
import {
  failedMessages,
  findMessages,
  listMessages,
  outboxBacklog,
  readMessagePage,
} from '../../../src/ledger/read/outbox.ts'
import { stuckLanes } from '../../../src/ledger/read/stuck-lanes.ts'
import { BURIED_AT } from '../../../src/model/suspects.ts'
import { idOf, seededLedger } from '../../support/seeded-ledger.ts'

/*
 * A lane is leased to one relay. Each message is finished once, under that lease, and a finished
 * message does not change unless an operator replays it.
 */

const LANE = idOf(800)
const HELD = { worker: 7, fence: 3, started_at: new Date(0), attempt: 1 }

async function ledgerWithLane(lane: Record<string, unknown>, ...states: string[]) {
  const ledger = await seededLedger()
  await ledger.row('outbox_lane', { shard: 0, id: LANE, topic: 't', tail: states.length, ...lane })
  for (const [index, state] of states.entries()) {
    await ledger.row('outbox', {
      shard: 0,
      id: idOf(index + 1),
      lane: LANE,
      seq: index + 1,
      receipt_id: idOf(100),
      subscriber: ledger.subscriber,
      tenant: 'default',
      topic: 't',
      payload: '{}',
      state,
      finished_at: state === 'waiting' ? null : new Date(0),
      reason: state === 'failed' ? 'refused' : null,
    })
  }
  const messages = () =>
    ledger.db.rows('select state::text as state, reason from hookonce.outbox order by seq')
  return { ...ledger, messages }
}

const settlement = (more: Partial<LaneSettlement> = {}): LaneSettlement => ({
  shard: 0,
  lane: LANE,
  fence: 3,
  doneTo: 1,
  first: 1,
  attempt: 1,
  failure: undefined,
  left: { attempt: 0, delayMs: 0, reason: undefined },
  ...more,
})

describe('settling a lane', () => {
  test('finishes its messages and releases it', async () => {
    const { db, messages } = await ledgerWithLane(HELD, 'waiting', 'waiting')
    expect(await settleLanes(db.pool, [settlement()])).toEqual([true])
    expect(await messages()).toEqual([
      { state: 'published', reason: null },
      { state: 'waiting', reason: null },
    ])
    expect(await db.rows('select worker from hookonce.outbox_lane')).toEqual([{ worker: null }])
  })

  test('changes nothing under an older fence', async () => {
    const { db, messages } = await ledgerWithLane(HELD, 'waiting')
    expect(await settleLanes(db.pool, [settlement({ fence: 2 })])).toEqual([false])
    expect(await messages()).toEqual([{ state: 'waiting', reason: null }])
    expect(await db.rows('select worker from hookonce.outbox_lane')).toEqual([{ worker: 7 }])
  })

  test('changes nothing of a lane that is rescued at that moment', async () => {
    const { db, messages, locked } = await ledgerWithLane(HELD, 'waiting', 'waiting')
    const rescue = await locked('outbox_lane', `id = '${LANE}'`)
    await rescue.change('worker = 8, fence = 4')
    const settled = settleLanes(db.pool, [settlement()])
    await rescue.awaited()
    await rescue.commit()
    expect(await settled).toEqual([false])
    expect(await messages()).toEqual([
      { state: 'waiting', reason: null },
      { state: 'waiting', reason: null },
    ])
    expect(await db.rows('select worker from hookonce.outbox_lane')).toEqual([{ worker: 8 }])
  })

  test('leaves finished messages unchanged', async () => {
    const { db, messages } = await ledgerWithLane(HELD, 'failed', 'waiting')
    expect(await settleLanes(db.pool, [settlement({ doneTo: 2, first: 2 })])).toEqual([true])
    expect(await messages()).toEqual([
      { state: 'failed', reason: 'refused' },
      { state: 'published', reason: null },
    ])
  })
})

describe('a locked lane is skipped, without waiting,', () => {
  test('by a claim', async () => {
    const { locked, withoutWaiting, db } = await ledgerWithLane({}, 'waiting')
    const claim = { shard: 0, worker: 9, slots: new Map([['t', 5]]), suspects: false }
    const held = await locked('outbox_lane', `id = '${LANE}'`)
    expect(await withoutWaiting((client) => claimLanes(client, claim))).toEqual([])
    await held.commit()
    expect(await claimLanes(db.pool, claim)).toMatchObject([{ lane: LANE }])
  })

  test('by a process that postpones a suspect', async () => {
    const { locked, withoutWaiting, db } = await ledgerWithLane({ crashes: 3 }, 'waiting')
    const putOff = { shard: 0, topics: ['t'], ms: 1_000 }
    const held = await locked('outbox_lane', `id = '${LANE}'`)
    expect(await withoutWaiting((client) => putOffLane(client, putOff))).toBe(undefined)
    await held.commit()
    expect(await putOffLane(db.pool, putOff)).toMatchObject({ lane: LANE })
  })

  test('by a rescue', async () => {
    const { locked, withoutWaiting } = await ledgerWithLane(HELD, 'waiting')
    await locked('outbox_lane', `id = '${LANE}'`)
    const rescue = { shard: 0, deadWorkers: [7], limit: 10, isCrash: true }
    expect(await withoutWaiting((client) => rescueLanes(client, rescue))).toEqual([])
  })
})

test('each claim of a lane has a fence of its own', async () => {
  const { db } = await ledgerWithLane({}, 'waiting')
  await db.rows(`select setval('hookonce.outbox_fence', 100)`)
  const claim = { shard: 0, worker: 9, slots: new Map([['t', 5]]), suspects: false }
  expect(await claimLanes(db.pool, claim)).toMatchObject([{ lane: LANE, fence: 101 }])
})

describe('a rescue of lanes', () => {
  const rescue = { shard: 0, deadWorkers: [7], limit: 10, isCrash: true }

  test('raises the fence', async () => {
    const { db } = await ledgerWithLane(HELD, 'waiting')
    await db.rows(`select setval('hookonce.outbox_fence', 100)`)
    await rescueLanes(db.pool, rescue)
    expect(await db.rows('select worker, fence::integer from hookonce.outbox_lane')).toEqual([
      { worker: null, fence: 101 },
    ])
  })

  test('buries the first message that waits', async () => {
    const { db, messages } = await ledgerWithLane(
      { ...HELD, crashes: BURIED_AT - 1 },
      'published',
      'waiting',
      'waiting',
    )
    expect(await rescueLanes(db.pool, rescue)).toMatchObject([{ messageId: idOf(2), buried: true }])
    expect((await messages()).map(({ state }) => state)).toEqual(['published', 'failed', 'waiting'])
  })

  test('does not bury a message that is published at that moment', async () => {
    const { db, messages, locked } = await ledgerWithLane({ ...HELD, crashes: BURIED_AT - 1 }, 'waiting')
    const published = await locked('outbox', `id = '${idOf(1)}'`)
    await published.change(`state = 'published'`)
    const rescued = rescueLanes(db.pool, rescue)
    await published.awaited()
    await published.commit()
    await rescued
    expect(await messages()).toEqual([{ state: 'published', reason: null }])
  })
})

describe('messages', () => {
  test('that wait are published, and no others', async () => {
    const { db } = await ledgerWithLane({}, 'published', 'failed', 'waiting')
    const found = await firstWaiting(db.pool, { shard: 0, lanes: [LANE], limit: 10 })
    expect(found.map(({ id }) => id)).toEqual([idOf(3)])
  })

  test('in the wanted states are replayed, and no others', async () => {
    const { db, messages } = await ledgerWithLane({}, 'published', 'failed', 'waiting')
    const replay = { shard: 0, ids: [1, 2, 3].map(idOf), states: ['failed'] as const }
    expect(await replayMessages(db.pool, replay)).toBe(1)
    expect((await messages()).map(({ state }) => state)).toEqual(['published', 'waiting', 'waiting'])
    expect(await db.number(`select seq from hookonce.outbox where id = '${idOf(2)}'`)).toBe(4)
  })

  test('that another transaction replays at that moment are skipped', async () => {
    const { db, locked } = await ledgerWithLane({}, 'failed')
    const other = await locked('outbox', `id = '${idOf(1)}'`)
    await other.change(`state = 'waiting', seq = 9, finished_at = null`)
    const replayed = replayMessages(db.pool, { shard: 0, ids: [idOf(1)], states: ['failed'] })
    await other.awaited()
    await other.commit()
    expect(await replayed).toBe(0)
    expect(await db.number('select seq from hookonce.outbox')).toBe(9)
  })

  test('that are locked are neither deleted nor waited for', async () => {
    const { locked, withoutWaiting, db } = await ledgerWithLane({}, 'published')
    const sweep = { shard: 0, keepMs: 1_000, limit: 10 }
    const held = await locked('outbox', `id = '${idOf(1)}'`)
    expect(await withoutWaiting((client) => sweepMessages(client, sweep))).toBe(0)
    await held.commit()
    expect(await sweepMessages(db.pool, sweep)).toBe(1)
  })
})

describe('retrying a lane now', () => {
  const LATER = { due_at: new Date(Date.now() + 60_000) }

  test('makes the lane of a waiting message due', async () => {
    const { db } = await ledgerWithLane(LATER, 'published', 'waiting')
    expect(await retryLaneNow(db.pool, { shard: 0, id: idOf(2) })).toBe(true)
    expect(await db.number('select count(*) from hookonce.outbox_lane where due_at <= now()')).toBe(1)
  })

  test('changes nothing for a finished message, although others of its lane wait', async () => {
    const { db } = await ledgerWithLane(LATER, 'published', 'waiting')
    expect(await retryLaneNow(db.pool, { shard: 0, id: idOf(1) })).toBe(false)
    expect(await db.number('select count(*) from hookonce.outbox_lane where due_at > now()')).toBe(1)
  })
})

describe('what people see of the outbox', () => {
  test('a page of waiting messages has no finished ones', async () => {
    const { db } = await ledgerWithLane({}, 'published', 'waiting', 'failed', 'waiting')
    const page = await readMessagePage(db.pool, {
      shards: 16,
      state: 'waiting',
      direction: 'onward',
      from: [0, idOf(0), 0],
      limit: 10,
      walk: 10,
    })
    expect(page.map(({ id }) => id)).toEqual([idOf(2), idOf(4)])
  })

  test.each(['published', 'failed'] as const)('a page of %s messages has no others', async (state) => {
    const { db } = await ledgerWithLane({}, 'published', 'failed', 'waiting')
    const page = await readMessagePage(db.pool, {
      shards: 16,
      state,
      direction: 'onward',
      from: ['infinity', idOf(0)],
      limit: 10,
      walk: 10,
    })
    expect(page.map((message) => message.state)).toEqual([state])
  })

  test('a lane is stuck behind its first waiting message, and only waiting messages count', async () => {
    const { db } = await ledgerWithLane({ reason: 'refused' }, 'failed', 'waiting', 'waiting', 'published')
    const question = { shards: 16, walk: 10, counted: 10, limit: 10 }
    expect(await stuckLanes(db.pool, question)).toMatchObject([{ messageId: idOf(2), waiting: 2 }])
  })

  test('only the first message that waits is retried, and knows why and when', async () => {
    const due = new Date(1e12)
    const lane = { attempt: 2, reason: 'refused once', due_at: due }
    const { db } = await ledgerWithLane(lane, 'published', 'waiting', 'waiting', 'failed')
    const states = ['waiting', 'published', 'failed'] as const
    const listed = await listMessages(db.pool, { shards: 16, limit: 10, states })
    const shown = listed
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ state, reason, dueAt }) => [state, reason, dueAt?.getTime()])
    expect(shown).toEqual([
      ['published', null, undefined],
      ['retrying', 'refused once', due.getTime()],
      ['waiting', null, undefined],
      ['failed', 'refused', undefined],
    ])
    const [found] = await findMessages(db.pool, 16, idOf(2))
    expect(found).toMatchObject({ state: 'retrying', attempts: 2 })
  })

  test('a message that was published last in its lane does not look retried', async () => {
    const { db } = await ledgerWithLane({ attempt: 2, reason: 'refused once' }, 'published', 'waiting')
    const [published] = await findMessages(db.pool, 16, idOf(1))
    expect(published).toMatchObject({ state: 'published', attempts: 0, reason: null, dueAt: null })
  })

  test('lists only the requested states', async () => {
    const { db } = await ledgerWithLane({}, 'waiting', 'published', 'failed')
    for (const state of ['waiting', 'published', 'failed'] as const) {
      const listed = await listMessages(db.pool, { shards: 16, limit: 10, states: [state] })
      expect(listed.map((message) => message.state)).toEqual([state])
    }
  })

  test('counts waiting and failed messages separately', async () => {
    const { db } = await ledgerWithLane({}, 'published', 'failed', 'failed', 'waiting')
    expect(await outboxBacklog(db.pool, 16)).toMatchObject([{ topic: 't', waiting: 1, failed: 2 }])
    const failed = await failedMessages(db.pool, { shard: 0, limit: 10 })
    expect(failed.sort()).toEqual([idOf(2), idOf(3)])
  })
})
