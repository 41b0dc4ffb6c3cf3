import { expect, test } from 'vitest'
import { beginAlertRun, sweepAlerts } from '../../../src/ledger/alerts/alerts.ts'
import { oldestDue } from '../../../src/ledger/alerts/readings.ts'
import { takeTokens } from '../../../src/ledger/jobs/limiters.ts'
import { setPaused } from '../../../src/ledger/jobs/subscribers.ts'
import { serverFacts } from '../../../src/ledger/read/server.ts'
import { sweepRollups } from '../../../src/ledger/stats/rollups.ts'
import { idOf, seededLedger } from '../../support/seeded-ledger.ts'

/* Upkeep and settings of several processes: one acts, and the others skip the row or wait for it. */

test('one process evaluates the alerts, and the others skip them, without waiting', async () => {
  const { db, locked, withoutWaiting } = await seededLedger()
  const other = await locked('alert_run', 'id = 1')
  expect(await withoutWaiting((client) => beginAlertRun(client, 0))).toBeUndefined()
  await other.commit()
  expect(await beginAlertRun(db.pool, 0)).toMatchObject({ sent: 0 })
})

test('a sweep of alerts skips a locked one, without waiting', async () => {
  const { db, row, locked, withoutWaiting } = await seededLedger()
  const long = new Date(0)
  const place = { tenant: 'default', source: 'test', subscriber: '', rule: 'lag', says: 'it lags' }
  await row('alert', { id: idOf(1), ...place, opened_at: long, last_seen_at: long, resolved_at: long })
  const other = await locked('alert', `id = '${idOf(1)}'`)
  const sweep = { keepDays: 1, limit: 10 }
  expect(await withoutWaiting((client) => sweepAlerts(client, sweep))).toBe(0)
  await other.commit()
  expect(await sweepAlerts(db.pool, sweep)).toBe(1)
})

test('a sweep of counts skips a locked bucket, without waiting', async () => {
  const { db, row, locked, withoutWaiting } = await seededLedger()
  await row('rollup', { at: new Date(0), size: 1, tenant: 'default', source: 'test', subscriber: '' })
  const other = await locked('rollup', 'size = 1')
  const sweep = { size: 1, keepMinutes: 1, limit: 10 } as const
  expect(await withoutWaiting((client) => sweepRollups(client, sweep))).toBe(0)
  await other.commit()
  expect(await sweepRollups(db.pool, sweep)).toBe(1)
})

test('only jobs that wait for a run lag', async () => {
  const { db, job } = await seededLedger()
  for (const [index, state] of ['processing', 'processed', 'failed', 'attention'].entries())
    await job(index + 1, { state, due_at: new Date(0) })
  expect(await oldestDue(db.pool, 16)).toEqual([])
  await job(9, { state: 'retrying', due_at: new Date(0) })
  expect(await oldestDue(db.pool, 16)).toHaveLength(1)
})

test('tokens that another process takes at that moment are not granted again', async () => {
  const { db, row, locked } = await seededLedger()
  const rate = { per_second: 0.000001, burst: 5, tokens: 5, refilled_at: new Date() }
  await row('limiter', { name: 'seeded', has_circuit: false, ...rate })
  const limiter = await db.number('select id from hookonce.limiter')
  const other = await locked('limiter', `name = 'seeded'`)
  await other.change('tokens = 1')
  const taken = takeTokens(db.pool, limiter, 5)
  await other.awaited()
  await other.commit()
  expect(await taken).toMatchObject({ granted: 1 })
})

test('of two pauses at the same moment, one is the first', async () => {
  const { db, locked } = await seededLedger()
  const other = await locked('source', `name = 'test'`)
  await other.change(`paused_at = '2020-01-01', pause_reason = 'first'`)
  const paused = setPaused(db.pool, { tenant: 'default', source: 'test', paused: true, reason: 'second' })
  await other.awaited()
  await other.commit()
  expect(await paused).toBe(true)
  expect(await db.rows('select pause_reason from hookonce.source')).toEqual([{ pause_reason: 'first' }])
})

test('the facts of the server have the durability of its commits', async () => {
  const { db, inOpenTransaction } = await seededLedger()
  expect(await serverFacts(db.pool)).toMatchObject({ synchronousCommit: 'on' })
  await inOpenTransaction(async (client) => {
    await client.query('set local synchronous_commit = local')
    expect(await serverFacts(client)).toMatchObject({ synchronousCommit: 'local' })
  })
})
