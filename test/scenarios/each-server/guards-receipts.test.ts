import { describe, expect, test } from 'vitest'
import { readEvents } from '../../../src/ledger/read/events.ts'
import { countedGroups, newestGroups } from '../../../src/ledger/read/failures.ts'
import { readFewEvents } from '../../../src/ledger/read/few-events.ts'
import { backlog } from '../../../src/ledger/read/jobs.ts'
import { receiptHistory } from '../../../src/ledger/read/receipts.ts'
import { importReceipts } from '../../../src/ledger/receipts/import.ts'
import { knownReceipts } from '../../../src/ledger/receipts/known-receipts.ts'
import { lockBodies, lockKeys, sweepBodies, sweepKeys } from '../../../src/ledger/receipts/retention.ts'
import { idOf, LEASED, seededLedger } from '../../support/seeded-ledger.ts'

/* A receipt stays, with its body, until its work is done, and no statement waits for a sweep. */

const LIVE = ['received', 'processing', 'retrying', 'attention']
const OVER = ['processed', 'failed']

async function oldReceipts(states: readonly string[]) {
  const ledger = await seededLedger()
  for (const [index, state] of states.entries()) await ledger.job(index + 1, { state })
  await ledger.db.rows(`update hookonce.receipt set received_at = now() - interval '10 years'`)
  const left = async (where: string) => {
    const found = await ledger.db.rows<{ id: string }>(
      `select id from hookonce.receipt where ${where} order by id`,
    )
    return found.map(({ id }) => id)
  }
  return { ...ledger, left }
}

describe('a sweep', () => {
  test('of bodies leaves those of unfinished work', async () => {
    const { db, left } = await oldReceipts([...LIVE, ...OVER])
    expect(await sweepBodies(db.pool, 0, 10)).toBe(2)
    expect(await left('body is not null')).toEqual([1, 2, 3, 4].map(idOf))
  })

  test('of keys leaves those of unfinished work', async () => {
    const { db, left } = await oldReceipts([...LIVE, ...OVER])
    expect(await sweepKeys(db.pool, 0, 10)).toBe(2)
    expect(await left('true')).toEqual([1, 2, 3, 4].map(idOf))
  })

  test.each([
    ['bodies', lockBodies],
    ['keys', lockKeys],
  ])('of %s skips a locked receipt, without waiting', async (_, lock) => {
    const { locked, withoutWaiting, inOpenTransaction, isLocked } = await oldReceipts(['processed'])
    const held = await locked('receipt', `id = '${idOf(1)}'`)
    expect(await withoutWaiting((client) => lock(client, 0, 10))).toEqual([])
    await held.commit()
    await inOpenTransaction((client) => lock(client, 0, 10))
    expect(await isLocked('receipt', `id = '${idOf(1)}'`)).toBe(true)
  })
})

test('an import reports the known events whose work is unfinished', async () => {
  const ledger = await seededLedger()
  const states = [...LIVE, ...OVER]
  for (const [index, state] of states.entries()) await ledger.job(index + 1, { state })
  const known = states.map((_, index) => ({
    id: idOf(index + 1),
    shard: 0,
    eventKey: `evt_${index + 1}`,
    eventType: 'x',
    occurredAtMs: undefined,
    keySeconds: 1e6,
  }))
  const { imported, unfinished } = await importReceipts(
    ledger.db.pool,
    { tenant: 'default', source: 'test' },
    known,
  )
  expect({ imported, unfinished: unfinished.toSorted() }).toEqual({
    imported: 0,
    unfinished: [1, 2, 3, 4].map(idOf),
  })
})

describe('a receipt past its retention', () => {
  const repeated = (number: number) => ({
    receipt: {
      id: idOf(number),
      shard: 0,
      tenant: 'default',
      source: 'test',
      eventKey: `evt_${number}`,
      eventType: 'x',
      objectId: undefined,
      occurredAtMs: undefined,
      secret: 1,
      headers: '',
      body: Buffer.from('{}'),
      keySeconds: 60,
    },
    jobs: [],
  })

  test('is known while its work is unfinished, and forgotten after that', async () => {
    const states = [...LIVE, ...OVER]
    const { db, left } = await oldReceipts(states)
    const known = await knownReceipts(
      db.pool,
      states.map((_, index) => repeated(index + 1).receipt),
    )
    expect([...known.keys()].sort()).toEqual([1, 2, 3, 4].map(idOf))
    expect(await left('true')).toEqual([1, 2, 3, 4].map(idOf))
  })

  test('is not forgotten during a replay', async () => {
    const { db, left, locked } = await oldReceipts(['processed'])
    const replay = await locked('receipt', `id = '${idOf(1)}'`)
    const known = knownReceipts(db.pool, [repeated(1).receipt])
    await replay.awaited()
    await db.rows(`update hookonce.job set state = 'received'`)
    await replay.commit()
    await known
    expect(await left('true')).toEqual([idOf(1)])
  })
})

test('the backlog counts jobs and effects by state, and its lag is the age of due work', async () => {
  const { db, job, row, subscriber } = await seededLedger()
  const old = { due_at: new Date(0) }
  await job(1, { state: 'received' })
  await job(2, { state: 'retrying' })
  await job(3, { ...LEASED, ...old })
  await job(4, { state: 'processed', ...old })
  await job(5, { state: 'failed', ...old })
  await job(6, { state: 'failed', ...old })
  await job(7, { state: 'attention', ...old })
  for (const [index, state] of ['unknown', 'started', 'done', 'failed'].entries()) {
    await row('effect', {
      shard: 0,
      id: idOf(900 + index),
      tenant: 'default',
      key: `mail:${index}`,
      receipt_id: idOf(7),
      subscriber,
      fence: 3,
      epoch: 0,
      mode: 'keyed',
      downstream_key: 'k',
      state,
    })
  }
  const [counted] = await backlog(db.pool, 16)
  expect(counted).toMatchObject({ waiting: 1, retrying: 1, failed: 2, attention: 1, effectsUnknown: 1 })
  expect(counted?.lagSeconds).toBeLessThan(3_600)
})

test('the story of a receipt has runs, including one that was handed back, but not jobs that were discarded', async () => {
  const { db, job } = await seededLedger()
  const told = async (number: number) => {
    const { attempts } = await receiptHistory(db.pool, 16, { shard: 0, id: idOf(number), tenant: 'default' })
    return attempts.map(({ outcome }) => outcome)
  }
  await job(1, LEASED)
  await job(2, { ...LEASED, state: 'processed' })
  await job(3, { ...LEASED, state: 'retrying' })
  await job(4, { ...LEASED, state: 'failed' })
  expect(await Promise.all([1, 2, 3, 4].map(told))).toEqual([['processing'], ['processed'], ['returned'], []])
  // The reason of a processed job shows that it was stale. The reason of a running job shows its
  // earlier failure.
  await job(5, { ...LEASED, reason: 'it was refused' })
  await job(6, { ...LEASED, state: 'processed', reason: 'a newer version is known' })
  expect(await Promise.all([5, 6].map(told))).toEqual([['processing'], ['stale']])
})

test('failures are jobs that failed, not jobs that wait for a person', async () => {
  const { db, job } = await seededLedger()
  const ended = { finished_at: new Date(), reason: 'refused' }
  await job(1, { state: 'failed', ...ended })
  await job(2, { state: 'attention', ...ended })
  const question = { shards: 16, examples: 10, hours: 24 }
  const counted = await countedGroups(db.pool, { ...question, largest: 10, latest: 10 })
  const newest = await newestGroups(db.pool, { ...question, walk: 10 })
  for (const { groups, isComplete } of [counted, newest]) {
    expect(isComplete).toBe(true)
    expect(groups.map(({ jobs, receiptIds }) => ({ jobs, receiptIds }))).toEqual([
      { jobs: 1, receiptIds: [idOf(1)] },
    ])
  }
})

describe('the events in a state', () => {
  const question = { direction: 'older', shards: 16, limit: 10 } as const
  const ids = (events: readonly { id: string }[] | undefined) => events?.map(({ id }) => id)

  test('have a job in this state', async () => {
    const { db, job, row, subscriber } = await seededLedger()
    for (const [index, state] of [...LIVE, ...OVER].entries())
      await job(index + 1, { state, finished_at: new Date(), reason: 'refused' })
    await row('attention', {
      shard: 0,
      receipt_id: idOf(1 + LIVE.indexOf('attention')),
      subscriber,
      effect_shard: 0,
      effect_id: idOf(900),
    })
    for (const [index, state] of [...LIVE, ...OVER].entries()) {
      const wanted = [idOf(index + 1)]
      const walk = { ...question, state, walk: 10 }
      expect(ids((await readEvents(db.pool, { ...walk, order: 'arrival' })).events)).toEqual(wanted)
      if (LIVE.includes(state))
        expect(ids(await readFewEvents(db.pool, { ...question, state, most: 10 }))).toEqual(wanted)
      if (state === 'failed' || state === 'attention')
        expect(ids((await readEvents(db.pool, { ...walk, order: 'failure' })).events)).toEqual(wanted)
    }
    const { events } = await readEvents(db.pool, { ...question, order: 'arrival', walk: 10 })
    expect(events.flatMap(({ states }) => states).sort()).toEqual([...LIVE, 'stale', 'failed'].sort())
  })

  test('are listed at their last job in this state', async () => {
    const { db, job, row, subscriber } = await seededLedger()
    await job(1, { state: 'failed', finished_at: new Date(Date.now() - 60_000) })
    const later = { state: 'attention', finished_at: new Date() }
    await row('job', { shard: 0, receipt_id: idOf(1), subscriber: subscriber + 1, ...later })
    await row('subscriber', { tenant: 'default', source: 'test', name: 'other', pattern: '*' })
    const walk = { ...question, order: 'failure', walk: 10 } as const
    for (const state of ['failed', 'attention'])
      expect(ids((await readEvents(db.pool, { ...walk, state })).events)).toEqual([idOf(1)])
  })
})
