import { expect, test } from 'vitest'
import type { ServerFacts } from '../../ledger/read/server.ts'
import { durationText, GIGABYTE, MEGABYTE, sizeText } from './finding.ts'
import { horizonFinding, vacuumFinding } from './ledger-checks.ts'
import { buffersFinding, clockFinding, standbyFinding, versionFinding, walFinding } from './server-checks.ts'

/* Limits that a real server reaches only after days, or at a size that is too large for a test. */

const facts: ServerFacts = {
  version: '16.4',
  versionNumber: 160_004,
  isStandby: false,
  isReadOnly: false,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  synchronousNames: '',
  standbys: 0,
  synchronousStandbys: 0,
  standbyBehind: null,
  sharedBuffers: 128 * MEGABYTE,
  maxWalSize: GIGABYTE,
  maxConnections: 100,
  reservedConnections: 3,
  autovacuum: 'on',
  trackCounts: 'on',
  role: 'app',
  isSuperuser: false,
  roleConnections: -1,
  databaseConnections: -1,
  transactionAge: 1_000,
  seesOthers: true,
  otherSessions: 0,
}

test('an old server fails', () => {
  expect(versionFinding({ ...facts, version: '13.9', versionNumber: 130_009 }).level).toBe('fail')
  expect(versionFinding({ ...facts, versionNumber: 140_000 }).level).toBe('ok')
})

test('a failover may lose commits that an asynchronous standby has not received', () => {
  const asynchronous = { ...facts, standbys: 2, standbyBehind: 40 * MEGABYTE }
  expect(standbyFinding(asynchronous)).toMatchObject({
    level: 'warn',
    seen: '2 standbys are asynchronous, up to 40 MB behind',
  })
  const waiting = { ...asynchronous, synchronousNames: 'b' }
  expect(standbyFinding(waiting).level).toBe('fail')
  expect(standbyFinding({ ...waiting, synchronousStandbys: 1 })).toEqual({
    check: 'standby',
    level: 'ok',
    seen: "synchronous_standby_names = 'b'; 1 of 2 standbys are synchronous",
  })
  expect(standbyFinding({ ...waiting, seesOthers: false }).level).toBe('ok')
  // Commits wait for no standby then, whatever the names say.
  const local = { ...waiting, synchronousStandbys: 1, synchronousCommit: 'local' }
  for (const seesOthers of [true, false])
    expect(standbyFinding({ ...local, seesOthers })).toMatchObject({
      level: 'warn',
      seen: "synchronous_standby_names = 'b', but synchronous_commit = local",
    })
})

test('memory and log grow with the ledger, up to a limit', () => {
  expect(buffersFinding(facts, { ledgerBytes: GIGABYTE }).level).toBe('ok')
  expect(buffersFinding(facts, { ledgerBytes: 10 * GIGABYTE })).toMatchObject({
    level: 'warn',
    advice: expect.stringContaining('1.3 GB'),
  })
  const large = { ...facts, sharedBuffers: 8 * GIGABYTE, maxWalSize: 16 * GIGABYTE }
  expect(buffersFinding(large, { ledgerBytes: 5_000 * GIGABYTE }).level).toBe('ok')
  const quiet = { timed: 100, requested: 5 }
  expect(walFinding(large, { ledgerBytes: 5_000 * GIGABYTE, ...quiet }).level).toBe('ok')
  expect(walFinding(facts, { ledgerBytes: 20 * GIGABYTE, ...quiet })).toMatchObject({
    level: 'warn',
    advice: expect.stringContaining('5 GB'),
  })
})

test('many early checkpoints need a larger log, at any size of the ledger', () => {
  const finding = walFinding(facts, { ledgerBytes: 0, timed: 10, requested: 40 })
  expect(finding).toMatchObject({ level: 'warn', advice: expect.stringContaining('2 GB') })
  expect(finding.seen).toContain('40 of 50 checkpoints came early')
})

test('a clock difference within the round trip is not reported', () => {
  expect(clockFinding({ skewMs: 2_500, roundTripMs: 4_900 }).level).toBe('ok')
  expect(clockFinding({ skewMs: 2_500, roundTripMs: 10 }).level).toBe('warn')
})

const none = { maxSeconds: 600, sessions: [], prepared: [], slots: [] }
const slot = { name: 'old', isActive: false, status: 'extended', age: 0, bytes: 2 * GIGABYTE }

test.each([
  ['one that nobody reads', slot, 'warn'],
  ['one that is read', { ...slot, isActive: true }, 'ok'],
  ['one that is read and holds back transactions', { ...slot, isActive: true, age: 5_000_000 }, 'warn'],
  ['one that was lost', { ...slot, status: 'lost', bytes: 0 }, 'warn'],
])('a replication slot: %s', (_, given, level) => {
  const finding = horizonFinding(facts, { ...none, slots: [given] })
  expect(finding.level).toBe(level)
  if (level === 'warn') expect(finding.advice).toContain(`pg_drop_replication_slot('old')`)
})

test('a transaction that is open for six times the limit is a failure', () => {
  const session = { pid: 7, user: 'ann', application: 'psql', state: 'active', seconds: 601 }
  expect(horizonFinding(facts, { ...none, sessions: [session] }).level).toBe('warn')
  expect(horizonFinding(facts, { ...none, sessions: [{ ...session, seconds: 3_601 }] }).level).toBe('fail')
})

test('a role that cannot see other sessions is reported', () => {
  expect(horizonFinding({ ...facts, seesOthers: false }, none).seen).toContain('cannot see those of others')
})

const job = { name: 'job', bytes: 1, live: 100_000, dead: 90_000, vacuumedAt: null, isVacuumOff: false }

test('dead rows are reported when they are many in number and share', () => {
  expect(vacuumFinding(facts, [job])).toMatchObject({
    level: 'warn',
    seen: expect.stringContaining('90000 dead'),
  })
  expect(vacuumFinding(facts, [{ ...job, live: 1_000_000 }]).level).toBe('ok')
  expect(vacuumFinding(facts, [{ ...job, live: 10, dead: 900 }]).level).toBe('ok')
})

test('a database that was not frozen for long fails before the server stops', () => {
  expect(vacuumFinding({ ...facts, transactionAge: 1_200_000_000 }, []).level).toBe('warn')
  expect(vacuumFinding({ ...facts, transactionAge: 1_900_000_000 }, []).level).toBe('fail')
})

test('sizes and durations are written for people', () => {
  expect([0, 512, 16 * MEGABYTE, 1.5 * GIGABYTE, 128 * GIGABYTE].map(sizeText)).toEqual([
    '0 bytes',
    '512 bytes',
    '16 MB',
    '1.5 GB',
    '128 GB',
  ])
  expect([45, 600, 7_200, 400_000].map(durationText)).toEqual(['45 s', '10 min', '2 h', '5 days'])
})
