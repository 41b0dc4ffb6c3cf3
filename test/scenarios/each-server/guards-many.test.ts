import { describe, expect, test } from 'vitest'
import {
  addBulkReplay,
  cancelBulkReplay,
  doneEffects,
  lockBulkReplay,
  moveBulkReplay,
  nextJobs,
  pruneBulkReplays,
  runningBulkReplays,
} from '../../../src/ledger/jobs/bulk-replay.ts'
import { probeNow } from '../../../src/ledger/jobs/circuits.ts'
import { idOf, type SeededLedger, seededLedger } from '../../support/seeded-ledger.ts'

/* Replays of many jobs, and probes that an operator makes due: only running or waiting ones. */

const STATES = ['running', 'cancelled', 'done']

async function ledgerWithReplays(): Promise<SeededLedger> {
  const ledger = await seededLedger()
  for (const [index, state] of STATES.entries())
    await ledger.row('bulk_replay', {
      id: idOf(index + 1),
      per_second: 1,
      state,
      name: state,
      actor: 'ada',
      why: 'a test',
      filter: '{}',
      position: '{}',
      expected: 1,
    })
  return ledger
}

const [RUNNING, ...ENDED] = [1, 2, 3].map(idOf) as [string, string, string]

describe('a replay of many', () => {
  test('that runs is listed, locked and cancelled, and no other', async () => {
    const { db } = await ledgerWithReplays()
    expect(await runningBulkReplays(db.pool)).toEqual([RUNNING])
    expect(await lockBulkReplay(db.pool, RUNNING)).toMatchObject({ name: 'running' })
    for (const id of ENDED) {
      expect(await lockBulkReplay(db.pool, id)).toBeUndefined()
      expect(await cancelBulkReplay(db.pool, id)).toBeUndefined()
    }
    expect(await cancelBulkReplay(db.pool, RUNNING)).toMatchObject({ state: 'cancelled' })
    const states = await db.rows<{ state: string }>('select state from hookonce.bulk_replay order by id')
    expect(states.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'done'])
  })

  test('that another process works on is skipped, without waiting', async () => {
    const { db, locked, withoutWaiting, inOpenTransaction, isLocked } = await ledgerWithReplays()
    const held = await locked('bulk_replay', `id = '${RUNNING}'`)
    expect(await withoutWaiting((client) => lockBulkReplay(client, RUNNING))).toBeUndefined()
    await held.commit()
    await inOpenTransaction((client) => lockBulkReplay(client, RUNNING))
    expect(await isLocked('bulk_replay', `id = '${RUNNING}'`)).toBe(true)
    expect(await runningBulkReplays(db.pool)).toEqual([RUNNING])
  })

  test('is added unless the limit of running replays is reached: ended replays do not count', async () => {
    const { db } = await ledgerWithReplays()
    const given = {
      name: 'new',
      tenant: null,
      actor: 'ada',
      why: 'a test',
      filter: { state: 'failed' as const },
      perSecond: 1,
      expected: 1,
    }
    expect(await addBulkReplay(db.pool, { ...given, most: 1 })).toBeUndefined()
    expect(await addBulkReplay(db.pool, { ...given, most: 2 })).toMatchObject({ state: 'running' })
  })

  test('runs until its walk is done', async () => {
    const { db } = await ledgerWithReplays()
    const position = { shard: 1, subscriber: 0, at: '-infinity', id: idOf(0) }
    const state = async () => db.rows('select state from hookonce.bulk_replay where id = $1', [RUNNING])
    await moveBulkReplay(db.pool, RUNNING, { position, seen: 1, replayed: 1, isDone: false })
    expect(await state()).toEqual([{ state: 'running' }])
    await moveBulkReplay(db.pool, RUNNING, { position, seen: 1, replayed: 1, isDone: true })
    expect(await state()).toEqual([{ state: 'done' }])
  })

  test('is kept while it runs, however many newer ones there are', async () => {
    const { db } = await ledgerWithReplays()
    await pruneBulkReplays(db.pool, 0)
    expect(await db.rows('select id from hookonce.bulk_replay')).toEqual([{ id: RUNNING }])
  })

  test('takes the jobs in its state', async () => {
    const { db, subscriber, job } = await seededLedger()
    const states = ['processed', 'failed', 'attention', 'received'] as const
    for (const [index, state] of states.entries()) await job(index + 1, { state, finished_at: new Date(0) })
    const next = (state: 'failed' | 'processed') =>
      nextJobs(db.pool, {
        filter: { state },
        createdAt: new Date(Date.now() + 3_600_000),
        position: { shard: 0, subscriber, at: '-infinity', id: idOf(0) },
        limit: 10,
      })
    expect((await next('failed')).map(({ id }) => id)).toEqual([idOf(2)])
    const processed = (await next('processed')).filter(({ wanted }) => wanted)
    expect(processed.map(({ id }) => id)).toEqual([idOf(1)])
  })

  test('is planned with the finished effects', async () => {
    const { db, job, row, subscriber } = await seededLedger()
    const { receiptId } = await job(1)
    for (const [index, state] of ['done', 'started', 'unknown'].entries())
      await row('effect', {
        shard: 0,
        id: idOf(index + 1),
        tenant: 'default',
        key: state,
        mode: 'keyed',
        state,
        fence: 1,
        epoch: 0,
        downstream_key: 'k',
        receipt_id: receiptId,
        subscriber,
      })
    const found = await doneEffects(db.pool, { shards: 16, receiptIds: [receiptId], limit: 10 })
    expect(found.map(({ key }) => key)).toEqual(['done'])
  })
})

describe('a probe is made due', () => {
  const later = new Date(Date.now() + 3_600_000)

  async function circuit(state: string) {
    const ledger = await seededLedger()
    await ledger.row('limiter', { name: 'seeded', has_circuit: true, state, probe_at: later })
    await ledger.db.rows('update hookonce.subscriber set limiter = (select id from hookonce.limiter)')
    const target = { tenant: 'default', source: 'test', subscriber: undefined }
    const isDue = async (): Promise<boolean> =>
      (await ledger.db.number('select count(*) from hookonce.limiter where probe_at <= now()')) === 1
    return { ...ledger, target, isDue }
  }

  test.each([
    ['open', 1],
    ['half-open', 0],
    ['closed', 0],
  ])('of a circuit that is %s: %i', async (state, changed) => {
    const { db, target, isDue } = await circuit(state)
    expect(await probeNow(db.pool, target)).toBe(changed)
    expect(await isDue()).toBe(changed === 1)
  })

  test('not of a circuit that closes at that moment', async () => {
    const { db, target, isDue, locked } = await circuit('open')
    const held = await locked('limiter', `name = 'seeded'`)
    await held.change(`state = 'closed'`)
    const probing = probeNow(db.pool, target)
    await held.awaited()
    await held.commit()
    expect(await probing).toBe(0)
    expect(await isDue()).toBe(false)
  })
})
