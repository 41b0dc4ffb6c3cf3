import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { setPaused } from '../../../src/ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { listAudit } from '../../../src/operate/audit.ts'
import { listPaused, pause, resume } from '../../../src/operate/pause.ts'
import { listSubscribers } from '../../../src/operate/subscribers.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

const target = { source: 'test', subscriber: 'app' }

async function seeded(): Promise<{ db: TestDatabase; ledger: LedgerTables }> {
  const db = await freshDatabase()
  await seedJobs(db, 1)
  return { db, ledger: { pool: db.pool, shards: 16 } }
}

test('a pause with a reason shows it, and the audit records who paused and resumed', async () => {
  const { ledger } = await seeded()
  expect(await pause(ledger, target, { by: 'ada', why: 'the app is being moved' })).toBe(true)
  const pauseReason = 'the app is being moved'
  expect(await listPaused(ledger)).toMatchObject([{ ...target, pauseReason }])
  expect(await listSubscribers(ledger)).toMatchObject([{ subscriber: 'app', pauseReason }])

  expect(await pause(ledger, target, { by: 'bob', why: 'another reason' })).toBe(false)
  expect(await listPaused(ledger)).toMatchObject([{ pauseReason }])

  expect(await resume(ledger, target, { by: 'ada', why: 'it was moved' })).toEqual({
    wasPaused: true,
    probes: 0,
  })
  expect(await resume(ledger, target, { by: 'ada', why: 'again' })).toEqual({ wasPaused: false, probes: 0 })
  expect(await listPaused(ledger)).toEqual([])
  const { entries } = await listAudit(ledger, { limit: 10 })
  expect(entries).toMatchObject([
    { actor: 'ada', action: 'resume', why: 'it was moved', subject: 'test app' },
    { actor: 'ada', action: 'pause', why: 'the app is being moved', subject: 'test app' },
  ])
  await pause(ledger, { source: 'test' })
  expect(await listPaused(ledger)).toMatchObject([{ subscriber: null, pauseReason: null }])
})

test('a resume that only makes a probe due is in the audit, and one that changes nothing is not', async () => {
  const { db, ledger } = await seeded()
  await db.rows(`with l as (
      insert into hookonce.limiter (name, has_circuit, state, probe_at)
      values ('app', true, 'open', now() + interval '1 hour') returning id
    ) update hookonce.subscriber set limiter = l.id from l`)
  const isDue = () => db.number('select count(*) from hookonce.limiter where probe_at <= now()')

  expect(await resume(ledger, { source: 'test' }, { by: 'ada', why: 'it is up' })).toEqual({
    wasPaused: false,
    probes: 1,
  })
  expect(await isDue()).toBe(1)
  const audit = [{ actor: 'ada', action: 'resume', subject: 'test', detail: { wasPaused: false, probes: 1 } }]
  expect((await listAudit(ledger, { limit: 10 })).entries).toMatchObject(audit)

  // The probe is already due.
  const [before] = await db.rows('select * from hookonce.limiter')
  expect(await resume(ledger, target, { by: 'ada', why: 'again' })).toEqual({ wasPaused: false, probes: 0 })
  expect(await db.rows('select * from hookonce.limiter')).toEqual([before])
  expect((await listAudit(ledger, { limit: 10 })).entries).toMatchObject(audit)
})

test('a resume of an unknown name makes no probe due', async () => {
  const { db, ledger } = await seeded()
  await db.rows(`with l as (
      insert into hookonce.limiter (name, has_circuit, state, probe_at)
      values ('app', true, 'open', now() + interval '1 hour') returning id
    ) update hookonce.subscriber set limiter = l.id from l`)
  await expect(resume(ledger, { ...target, subscriber: 'other' })).rejects.toThrow('knows no subscriber')
  expect(await db.number('select count(*) from hookonce.limiter where probe_at <= now()')).toBe(0)
})

test('a pause that waits for another one keeps the reason of the first', async () => {
  const { db, ledger } = await seeded()
  const first = await db.pool.connect()
  await first.query('begin')
  const change = { tenant: 'default', ...target, paused: true }
  expect(await setPaused(first, { ...change, reason: 'the first' })).toBe(false)
  const second = pause(ledger, target, { by: 'bob', why: 'the second' })
  await until('the second waits for the row', () =>
    db.number(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    ),
  )
  await first.query('commit')
  first.release()

  expect(await second).toBe(false)
  expect(await listPaused(ledger)).toMatchObject([{ pauseReason: 'the first' }])
  expect((await listAudit(ledger, { limit: 10 })).entries).toEqual([])
})

test('a pause of an unknown name, or with half a reason, changes nothing', async () => {
  const { ledger } = await seeded()
  await expect(pause(ledger, { source: 'test', subscriber: 'other' })).rejects.toThrow(
    'the ledger knows no subscriber "other" of source "test"',
  )
  await expect(pause(ledger, target, { by: 'ada', why: ' ' })).rejects.toThrow('needs `by` and `why`')
  expect(await listPaused(ledger)).toEqual([])
})

test('one connection is enough to report an unknown name', async () => {
  const { db } = await seeded()
  // If a call needed a second connection, as many callers as connections would wait for each other.
  const pool = quietPool(new pg.Pool({ connectionString: db.url, max: 1, connectionTimeoutMillis: 10_000 }))
  onTestFinished(() => pool.end())
  const ledger = { pool, shards: 16 }
  const unknown = { source: 'test', subscriber: 'none' }
  await expect(pause(ledger, unknown)).rejects.toMatchObject({ code: 'SUBSCRIBER_UNKNOWN' })
  await expect(resume(ledger, { source: 'none' })).rejects.toMatchObject({ code: 'SOURCE_UNKNOWN' })
})
