import { expect, test } from 'vitest'
import {
  endEffect,
  endUnknown,
  handOnEffects,
  lockEffect,
  markOpenCallsUnknown,
  openCallsOf,
  reopenEffects,
  takeOverEffect,
} from '../../../src/ledger/effects/effects.ts'
import { lockVersion } from '../../../src/ledger/effects/entities.ts'
import { decideEffect, unknownEffects } from '../../../src/ledger/jobs/attention.ts'
import { isLive } from '../../../src/ledger/jobs/fence.ts'
import { settleWaiting } from '../../../src/operate/subscribers.ts'
import { idOf, LEASED, seededLedger } from '../../support/seeded-ledger.ts'

/* The outcome of an effect is recorded once, by the run that owns it, and never overwritten. */

const effectOf = (number: number) => ({
  shard: 0,
  id: idOf(900 + number),
  tenant: 'default',
  key: `mail:${number}`,
})

async function ledgerWithEffects(...states: string[]) {
  const ledger = await seededLedger()
  for (const [index, state] of states.entries()) {
    await ledger.row('effect', {
      ...effectOf(index + 1),
      receipt_id: idOf(1),
      subscriber: ledger.subscriber,
      fence: 3,
      epoch: 0,
      mode: 'atMostOnce',
      downstream_key: 'k',
      state,
      reason: `was ${state}`,
    })
  }
  const job = { shard: 0, receiptId: idOf(1), subscriber: ledger.subscriber, fence: 3 }
  const statesNow = async () => {
    const found = await ledger.db.rows<{ state: string }>(
      'select state::text as state from hookonce.effect order by id',
    )
    return found.map(({ state }) => state)
  }
  return { ...ledger, run: job, statesNow }
}

const ended = (state: 'done' | 'failed', number = 1) => ({
  effect: effectOf(number),
  epoch: 0,
  state,
  result: null,
  reason: null,
})

test('the run that owns an effect records its outcome, twice if its first reply was lost', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('started')
  expect(await endEffect(db.pool, { ...ended('done'), job: run })).toBe(true)
  expect(await endEffect(db.pool, { ...ended('done'), job: run })).toBe(true)
  expect(await statesNow()).toEqual(['done'])
})

test('a run whose effect another run took over records nothing', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('started')
  expect(await endEffect(db.pool, { ...ended('done'), job: { ...run, fence: 2 } })).toBe(false)
  expect(await statesNow()).toEqual(['started'])
})

test('an effect that another run takes over belongs to that run', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('started')
  const successor = { ...run, fence: 4 }
  await takeOverEffect(db.pool, { effect: effectOf(1), job: successor, epoch: 0, mode: 'keyed' })
  expect(await endEffect(db.pool, { ...ended('failed'), job: run })).toBe(false)
  expect(await endEffect(db.pool, { ...ended('done'), job: successor })).toBe(true)
  expect(await statesNow()).toEqual(['done'])
})

test('an effect that an operator lets run again belongs to no earlier run', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('unknown', 'unknown')
  const decision = { epoch: 0, reason: 'it was not sent', result: null, caller: undefined }
  await decideEffect(db.pool, { ...decision, effect: effectOf(1), state: 'started' })
  await decideEffect(db.pool, { ...decision, effect: effectOf(2), state: 'done' })
  expect(await endEffect(db.pool, { ...ended('failed'), job: run })).toBe(false)
  expect(await statesNow()).toEqual(['started', 'done'])
})

test('a fresh replay reopens every effect that has not failed', async () => {
  const { db, run } = await ledgerWithEffects('started', 'done', 'failed', 'unknown')
  const reopened = await reopenEffects(db.pool, run)
  expect(reopened.map(({ key }) => key).sort()).toEqual(['mail:1', 'mail:2', 'mail:4'])
  expect(await db.rows('select key from hookonce.effect where reopened_at is null')).toEqual([
    { key: 'mail:3' },
  ])
})

test('a recorded outcome is final', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('done', 'unknown', 'done')
  expect(await endEffect(db.pool, { ...ended('failed'), job: run })).toBe(false)
  expect(await endEffect(db.pool, { ...ended('done', 2), job: run })).toBe(false)
  await endUnknown(db.pool, ended('failed', 3))
  expect(await statesNow()).toEqual(['done', 'unknown', 'done'])
  await endUnknown(db.pool, ended('failed', 2))
  expect(await statesNow()).toEqual(['done', 'failed', 'done'])
})

test('only calls without an outcome are open, and become unknown', async () => {
  const { db, run, statesNow } = await ledgerWithEffects('started', 'done', 'failed', 'unknown')
  expect((await openCallsOf(db.pool, 16, run)).map(({ key }) => key)).toEqual(['mail:1'])
  await markOpenCallsUnknown(db.pool, { shards: 16, job: run, reason: 'open' })
  expect(await statesNow()).toEqual(['unknown', 'done', 'failed', 'unknown'])
})

test('the effects of a moved job belong to the job that continues it, in every state', async () => {
  const { db, row, run, job } = await ledgerWithEffects('started', 'done', 'failed', 'unknown')
  await job(1, { state: 'retrying', fence: 3 })
  await row('subscriber', { tenant: 'default', source: 'test', name: 'new', pattern: '*' })
  const other = effectOf(5)
  const columns = { fence: 3, epoch: 0, mode: 'keyed', downstream_key: 'k', state: 'started' }
  await row('effect', { ...other, ...columns, receipt_id: idOf(2), subscriber: run.subscriber })
  const request = { tenant: 'default', source: 'test', subscriber: 'all', to: 'new', begun: true }
  await settleWaiting({ pool: db.pool, shards: 16 }, request, { by: 'ann', why: 'renamed' })
  expect(
    await db.rows(
      `select s.name, e.state::text, e.fence from hookonce.effect e
       join hookonce.subscriber s on s.id = e.subscriber order by e.id`,
    ),
  ).toEqual([
    { name: 'new', state: 'started', fence: 3 },
    { name: 'new', state: 'done', fence: 3 },
    { name: 'new', state: 'failed', fence: 3 },
    { name: 'new', state: 'unknown', fence: 3 },
    { name: 'all', state: 'started', fence: 3 },
  ])
})

test('an effect that another job has just taken over is not handed on', async () => {
  const { db, run, locked } = await ledgerWithEffects('started')
  const held = await locked('effect', `id = '${effectOf(1).id}'`)
  const moving = handOnEffects(db.pool, 16, {
    receiptIds: [run.receiptId],
    subscriber: run.subscriber,
    to: 99,
  })
  await held.awaited()
  await held.change(`receipt_id = '${idOf(2)}', subscriber = 77`)
  await held.commit()
  await moving
  expect(await db.rows('select receipt_id, subscriber from hookonce.effect')).toEqual([
    { receipt_id: idOf(2), subscriber: 77 },
  ])
})

test('a run is live while it processes its job under its fence', async () => {
  const { db, job } = await seededLedger()
  const run = await job(1, LEASED)
  const over = await job(2, { ...LEASED, state: 'retrying' })
  expect(await isLive(db.pool, run)).toBe(true)
  expect(await isLive(db.pool, { ...run, fence: 2 })).toBe(false)
  expect(await isLive(db.pool, over)).toBe(false)
})

test('an effect and a version are held until the transaction that decides on them ends', async () => {
  const { row, inOpenTransaction, isLocked } = await ledgerWithEffects('started')
  const entity = { shard: 0, id: idOf(700), tenant: 'default', name: 'invoice:1' }
  await row('entity', { ...entity, kind: 'number', version: '1', deleted: false })
  await inOpenTransaction(async (client) => {
    await lockEffect(client, effectOf(1))
    await lockVersion(client, entity)
  })
  expect(await isLocked('effect', `id = '${effectOf(1).id}'`)).toBe(true)
  expect(await isLocked('entity', `id = '${entity.id}'`)).toBe(true)
})

test('effects that need a person are listed: unknown effects, and effects that jobs wait for', async () => {
  const { db, row, subscriber } = await ledgerWithEffects('unknown', 'done', 'done', 'started')
  await row('attention', {
    shard: 0,
    receipt_id: idOf(5),
    subscriber,
    effect_shard: 0,
    effect_id: effectOf(3).id,
  })
  const listed = await unknownEffects(db.pool, 16)
  expect(listed.map(({ key, reason }) => ({ key, reason })).sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(
    [
      { key: 'mail:1', reason: 'was unknown' },
      { key: 'mail:3', reason: 'no decision is needed: the effect is done; confirm-done releases its jobs' },
    ],
  )
})

test('an unknown effect is listed with the run that made its last call', async () => {
  const { db, row, subscriber } = await ledgerWithEffects('unknown')
  for (const [number, fence] of [2, 3, 4].entries())
    await row('attempt', {
      shard: 0,
      receipt_id: idOf(1),
      subscriber,
      fence,
      number: number + 1,
      started_at: new Date(0),
      outcome: 'crashed',
      error: `run ${fence} died`,
    })
  const listed = await unknownEffects(db.pool, 16)
  expect(listed.map(({ call }) => call)).toMatchObject([{ attempt: 2, error: 'run 3 died' }])
})

test('an effect that another job takes over at that moment stays with that job', async () => {
  const { db, subscriber, locked } = await ledgerWithEffects('started', 'done')
  const takeOver = await locked('effect', `key = 'mail:1'`)
  await takeOver.change('subscriber = 98')
  const handedOn = handOnEffects(db.pool, 16, { receiptIds: [idOf(1)], subscriber, to: 99 })
  await takeOver.awaited()
  await takeOver.commit()
  await handedOn
  expect(await db.rows('select key, subscriber from hookonce.effect order by key')).toEqual([
    { key: 'mail:1', subscriber: 98 },
    { key: 'mail:2', subscriber: 99 },
  ])
})
