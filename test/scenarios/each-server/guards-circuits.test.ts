import { expect, test } from 'vitest'
import {
  claimProbe,
  dueProbe,
  failProbe,
  openCircuit,
  passProbe,
  readCircuits,
  releaseProbe,
} from '../../../src/ledger/jobs/circuits.ts'
import { registerLimiter } from '../../../src/ledger/jobs/limiters.ts'
import { registerSubscriber } from '../../../src/ledger/jobs/subscribers.ts'
import { limitedSubscribers } from '../../../src/ledger/read/limiters.ts'
import { freshDatabase } from '../../support/database.ts'
import { seededLedger } from '../../support/seeded-ledger.ts'

/* Each change of a circuit names the generation before, and holds or releases its subscribers. */

test('a change of a circuit with an outdated generation is refused', async () => {
  const db = await freshDatabase()
  const id = await db.number(
    `insert into hookonce.limiter (name, has_circuit, generation) values ('seeded', true, 7) returning id`,
  )
  const opening = { limiter: id, reason: 'down', openMs: 1 }
  const ended = { limiter: id, generation: 7 }
  const failed = { ...ended, reason: 'down', openMs: 1, maxOpenMs: 1 }

  expect(await openCircuit(db.pool, { ...opening, generation: 6 })).toBeUndefined()
  expect(await openCircuit(db.pool, { ...opening, generation: 7 })).toMatchObject({
    state: 'open',
    generation: 8,
  })
  expect(await openCircuit(db.pool, { ...opening, generation: 8 })).toBeUndefined()
  await db.rows(`update hookonce.limiter set state = 'half-open'`)
  expect(await passProbe(db.pool, ended, 1)).toBeUndefined()
  expect(await failProbe(db.pool, failed)).toBeUndefined()
  expect(await releaseProbe(db.pool, ended)).toBeUndefined()
  expect(await passProbe(db.pool, { ...ended, generation: 8 }, 1)).toMatchObject({
    state: 'closed',
    generation: 9,
  })
  // The circuit has closed meanwhile: a late probe does not open it again.
  expect(await failProbe(db.pool, { ...failed, generation: 9 })).toBeUndefined()
})

test.each(['open', 'closed'])('the end of a probe changes nothing in a circuit that is %s', async (state) => {
  const db = await freshDatabase()
  const id = await db.number(
    `insert into hookonce.limiter (name, has_circuit, state, generation) values ('seeded', true, $1, 7) returning id`,
    [state],
  )
  const ended = { limiter: id, generation: 7 }

  expect(await passProbe(db.pool, ended, 1)).toBeUndefined()
  expect(await failProbe(db.pool, { ...ended, reason: 'down', openMs: 1, maxOpenMs: 1 })).toBeUndefined()
  expect(await releaseProbe(db.pool, ended)).toBeUndefined()
  expect(await db.rows('select state, generation from hookonce.limiter')).toEqual([{ state, generation: 7 }])
})

test('a limiter without a circuit keeps the time at which it closed', async () => {
  const db = await freshDatabase()
  const limiter = { name: 'seeded', hasCircuit: true, rate: undefined }
  await registerLimiter(db.pool, limiter)
  const seed = (state: string) =>
    db.rows(`update hookonce.limiter set state = $1, since = '2020-01-01'`, [state])
  const since = `select (since = '2020-01-01')::int from hookonce.limiter where state = 'closed'`

  await seed('closed')
  await registerLimiter(db.pool, { ...limiter, hasCircuit: false })
  expect(await db.number(since)).toBe(1)
  await seed('open')
  await registerLimiter(db.pool, { ...limiter, hasCircuit: false })
  expect(await db.number(since)).toBe(0)
})

test('only an open circuit has a next probe', async () => {
  const db = await freshDatabase()
  const states = ['closed', 'open', 'half-open']
  for (const state of states)
    await db.rows(
      `with made as (
         insert into hookonce.limiter (name, has_circuit, state, probe_at) values ($1, true, $1, '2020-01-01') returning id
       )
       insert into hookonce.subscriber (tenant, source, name, pattern, limiter)
       select 'default', 's', $1, '*', id from made`,
      [state],
    )
  const limited = await limitedSubscribers(db.pool)
  expect(limited.map(({ state, nextProbeAt }) => [state, nextProbeAt !== null])).toEqual([
    ['closed', false],
    ['half-open', false],
    ['open', true],
  ])
})

test('subscribers are held until the last probe has passed', async () => {
  const db = await freshDatabase()
  const id = await db.number(
    `insert into hookonce.limiter (name, has_circuit, state) values ('seeded', true, 'half-open') returning id`,
  )
  await db.rows(
    `insert into hookonce.subscriber (tenant, source, name, pattern, limiter, held_at)
     values ('', 's', 'n', '*', $1, now())`,
    [id],
  )
  const held = () => db.number('select count(held_at) from hookonce.subscriber')

  expect(await passProbe(db.pool, { limiter: id, generation: 0 }, 2)).toMatchObject({ state: 'half-open' })
  expect(await held()).toBe(1)
  expect(await passProbe(db.pool, { limiter: id, generation: 1 }, 2)).toMatchObject({ state: 'closed' })
  expect(await held()).toBe(0)
})

test('the time to the next probe doubles with each failure, up to its limit', async () => {
  const db = await freshDatabase()
  const id = await db.number(
    `insert into hookonce.limiter (name, has_circuit, state) values ('seeded', true, 'half-open') returning id`,
  )
  const waits: number[] = []
  for (let n = 0; n < 5; n += 1) {
    const ended = { limiter: id, generation: n, reason: 'down' }
    const failed = await failProbe(db.pool, { ...ended, openMs: 100_000, maxOpenMs: 1_000_000 })
    expect(failed).toMatchObject({ state: 'open', generation: n + 1 })
    waits.push(
      await db.number(
        `update hookonce.limiter set state = 'half-open'
         returning round(extract(epoch from probe_at - now()) / 100)`,
      ),
    )
  }
  expect(waits).toEqual([2, 4, 8, 10, 10])
})

test('a limiter that never had a circuit keeps its generation', async () => {
  const db = await freshDatabase()
  const limiter = { name: 'seeded', hasCircuit: false, rate: undefined }
  const generation = 'select generation from hookonce.limiter'
  await registerLimiter(db.pool, limiter)
  await registerLimiter(db.pool, limiter)
  expect(await db.number(generation)).toBe(0)
  await db.rows(`update hookonce.limiter set state = 'open'`)
  await registerLimiter(db.pool, limiter)
  expect(await db.number(generation)).toBe(1)
})

const [PAST, LATER] = [new Date(0), new Date(Date.now() + 3_600_000)]

test.each([
  ['open, from its time on', { state: 'open', probe_at: PAST }, true],
  ['open, before its time', { state: 'open', probe_at: LATER }, false],
  ['closed', { state: 'closed', probe_at: PAST }, false],
  ['half-open, without a prober', { state: 'half-open', probe_at: PAST }, true],
  [
    'half-open, with a live prober',
    { state: 'half-open', probe_at: PAST, prober: 1, probe_until: LATER },
    false,
  ],
])('a probe is due of a circuit that is %s: %j', async (_, columns, isProbeDue) => {
  const { db, row } = await seededLedger()
  await row('worker', { host: 'test', pid: 1, lease_until: LATER })
  await row('limiter', { name: 'seeded', has_circuit: true, ...columns })
  const id = await db.number('select id from hookonce.limiter')
  expect(await readCircuits(db.pool, [id])).toMatchObject([{ isProbeDue }])
})

test('a probe takes only a job that waits for a run', async () => {
  const { db, row, job, subscriber } = await seededLedger()
  await row('limiter', { name: 'seeded', has_circuit: true, state: 'open', probe_at: PAST })
  const limiter = await db.number('select id from hookonce.limiter')
  await db.rows('update hookonce.subscriber set limiter = $1', [limiter])
  const question = { shards: 16, limiter, subscribers: [subscriber] }
  for (const [index, state] of ['processing', 'processed', 'failed', 'attention'].entries())
    await job(index + 1, { state, due_at: PAST })
  expect(await dueProbe(db.pool, question)).toBeUndefined()
  await job(9, { state: 'retrying', due_at: PAST })
  expect(await dueProbe(db.pool, question)).toEqual({ shard: 0, subscriber })
})

test('one probe is claimed at a time', async () => {
  const { db, row, job, subscriber } = await seededLedger()
  await row('worker', { host: 'test', pid: 1, lease_until: LATER })
  const worker = await db.number('select id from hookonce.worker')
  await row('limiter', { name: 'seeded', has_circuit: true, state: 'open', probe_at: PAST })
  const limiter = await db.number('select id from hookonce.limiter')
  for (const number of [1, 2]) await job(number, { due_at: PAST })
  const claim = { shard: 0, subscriber, limiter, worker, withinMs: 3_600_000 }
  expect(await claimProbe(db.pool, claim)).toMatchObject({ generation: 1 })
  expect(await claimProbe(db.pool, claim)).toBeUndefined()
  expect(await db.rows('select state, prober from hookonce.limiter')).toEqual([
    { state: 'half-open', prober: worker },
  ])
})

const SUBSCRIBER = { tenant: 'default', source: 'test', name: 'new', pattern: '*' }
const HELD = `select count(held_at) from hookonce.subscriber where name = 'new'`

test.each([
  ['closed', 0],
  ['open', 1],
  ['half-open', 1],
])('a subscriber of a circuit that is %s is registered as held: %i', async (state, held) => {
  const { db, row } = await seededLedger()
  await row('limiter', { name: 'seeded', has_circuit: true, state })
  const limiter = await db.number('select id from hookonce.limiter')
  await registerSubscriber(db.pool, { ...SUBSCRIBER, limiter })
  expect(await db.number(HELD)).toBe(held)
})

test('a subscriber that is registered while its circuit opens is held', async () => {
  const { db, row, locked } = await seededLedger()
  await row('limiter', { name: 'seeded', has_circuit: true })
  const limiter = await db.number('select id from hookonce.limiter')
  const opening = await locked('limiter', `name = 'seeded'`)
  await opening.change(`state = 'open'`)
  const registered = registerSubscriber(db.pool, { ...SUBSCRIBER, limiter })
  await opening.awaited()
  await opening.commit()
  await registered
  expect(await db.number(HELD)).toBe(1)
})
