import { expect, test } from 'vitest'
import { readProgress } from '../../../src/ledger/testing/progress.ts'
import { LEASED, seededLedger } from '../../support/seeded-ledger.ts'

/* `t.settled()` waits for running and due work, and for no job that rests. */

const AT_REST = { running: 0, due: 0, later: 0, nextMs: null }

test('finished jobs, and jobs in attention, are at rest', async () => {
  const { db, job } = await seededLedger()
  for (const [index, state] of ['processed', 'failed', 'attention'].entries()) await job(index + 1, { state })
  expect(await readProgress(db.pool)).toEqual(AT_REST)
  await job(4)
  expect(await readProgress(db.pool)).toEqual({ ...AT_REST, due: 1 })
})

test('a paused subscriber holds its waiting jobs, and its running one goes on', async () => {
  const { db, job } = await seededLedger()
  await job(1)
  await db.rows('update hookonce.subscriber set paused_at = now()')
  expect(await readProgress(db.pool)).toEqual(AT_REST)
  await job(2, LEASED)
  expect(await readProgress(db.pool)).toEqual({ ...AT_REST, running: 1 })
})

test.each([
  ['open', { due: 0, later: 1 }],
  ['half-open', { due: 1, later: 0 }],
  ['closed', { due: 1, later: 0 }],
])('a circuit that is %s: %o', async (state, expected) => {
  const { db, job, row } = await seededLedger()
  const probe_at = new Date(Date.now() + 3_600_000)
  await row('limiter', { name: 'seeded', has_circuit: true, state, probe_at })
  await db.rows('update hookonce.subscriber set limiter = (select id from hookonce.limiter)')
  await job(1)
  expect(await readProgress(db.pool)).toMatchObject(expected)
})
