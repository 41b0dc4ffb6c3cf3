import { expect, test } from 'vitest'
import { MIGRATIONS, migrationsIn } from '../../../src/ledger/migrations/numbered-files.ts'
import { type App, startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { NEEDS_GIT_HISTORY } from '../../support/declared-skips.ts'
import { MIGRATION_FILES, NEWEST } from '../../support/old-schema.ts'
import { buildOfVersion, builtVersions } from '../../support/older-build.ts'
import type { TestPayload } from '../../support/source.ts'
import { emptyDatabase, expectEachOnce, load } from '../../support/steady-load.ts'
import { until } from '../../support/until.ts'

/* Older builds and the present build, in parallel on one ledger. */

/*
 * After migration 0007, processes of older builds fail every read of an effect on their open
 * connections. So the jobs that make calls need many attempts while these processes run.
 */
const retry = { baseDelayMs: 500, maxDelayMs: 1_000, maxAttempts: 1_000 }
const options = { pollMs: 20, retry }

const MIGRATED = '(select max(applied_at) from hookonce.migration)'

/** Waits until every process has handled events since the last migration. */
async function eachWorks(db: TestDatabase, apps: readonly App[]): Promise<void> {
  const handled = `select count(*) from run where pid = $1 and at > ${MIGRATED}`
  for (const app of apps)
    await until('each process works', async () => (await db.number(handled, [app.pid])) >= 10)
}

/**
 * Sends events to a process of the present build that only receives, until every older process has
 * handled one of them. Returns the number of events.
 */
async function untilEachTakesOver(db: TestDatabase, older: readonly App[]): Promise<number> {
  const receiver = await startApp(db, { options, works: false })
  const pids = older.map((app) => app.pid)
  const handlers = `select count(distinct pid) from run where type = 'count.b' and pid = any($1)`
  let sent = 0
  await until('every older process takes over', async () => {
    const batch = Array.from({ length: 5 }, () => receiver.send({ id: `b_${sent++}`, type: 'count.b' }))
    for (const response of await Promise.all(batch)) expect(response.status).toBe(202)
    return (await db.number(handlers, [pids])) === older.length
  })
  receiver.kill('SIGTERM')
  expect(await receiver.exited()).toBe(0)
  return sent
}

/**
 * Sends events until every process has an event in progress that does not end. Returns the number
 * of events.
 */
async function untilEachHangs(db: TestDatabase, apps: readonly App[]): Promise<number> {
  let sent = 0
  const event = (): TestPayload => ({ id: `hang_${sent++}`, type: 'handover.a' })
  await until('every process has an event in progress', async () => {
    const responses = await Promise.all(apps.map((app) => app.send(event())))
    for (const { status } of responses) expect(status).toBe(202)
    const [runs] = await db.rows<{ events: number; processes: number }>(HANGING)
    return runs?.events === sent && runs.processes === apps.length
  })
  return sent
}

const HANGING = `select count(*)::int as events, count(distinct pid)::int as processes from run
  where type = 'handover.a'`

/**
 * The number of older builds that run in parallel. Each further group of versions has its own test.
 */
const MAX_OLDER_BUILDS = 6
const migrations = await migrationsIn(MIGRATIONS)
const builds = builtVersions()

/** The older versions that work on the newest schema, as every later migration declares. */
const survivors = migrations
  .map(({ id }) => id)
  .filter((version) => migrations.every((later) => later.id <= version || later.oldestBinary <= version))
  .filter((version) => version < NEWEST)
  // Of migrations that were committed together, only the last was ever the newest of a build.
  .filter((version) => builds?.has(version) ?? true)
const groups = Array.from({ length: Math.ceil(survivors.length / MAX_OLDER_BUILDS) }, (_, group) =>
  survivors.slice(group * MAX_OLDER_BUILDS, (group + 1) * MAX_OLDER_BUILDS),
)

test.for(groups.map((versions) => ({ versions, names: versions.join(', ') })))(
  'events take effect once while builds of versions $names and the present one share the ledger',
  { timeout: 180_000 },
  async ({ versions }, context) => {
    const dists = versions.map(buildOfVersion)
    if (dists.includes(undefined)) return context.skip(NEEDS_GIT_HISTORY)
    const db = await emptyDatabase()
    const stop = { drainMs: 500 }
    const older: App[] = []
    const sending = load(() => older)
    for (const dist of dists) {
      // This migrates the ledger while the processes of older builds use it.
      older.push(await startApp(db, { options, stop, ...(dist && { dist }) }))
      await eachWorks(db, older)
    }
    const handedOver = await untilEachHangs(db, older)
    const present = await startApp(db, { options, stop })
    expect(await db.number('select count(*) from hookonce.migration')).toBe(MIGRATION_FILES.length)
    sending.targets = () => [...older, present]
    await eachWorks(db, [...older, present])
    const takenOver = await untilEachTakesOver(db, older)
    sending.targets = () => [present]
    for (const app of older) app.kill('SIGTERM')
    expect(await Promise.all(older.map((app) => app.exited()))).toEqual(older.map(() => 0))
    await sending.stop()

    const events = sending.sent + takenOver + handedOver
    await expectEachOnce(db, { events, sent: sending.sent })
    const elsewhere = `select count(distinct receipt_id) from effect join run using (receipt_id)
      where effect.type = 'handover.a' and run.pid <> effect.pid`
    expect(await db.number(elsewhere)).toBe(handedOver)
  },
)

test('a build that is too old for the schema refuses to start, with the reason', async (context) => {
  const dist = buildOfVersion(3)
  if (dist === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await freshDatabase()
  const old = startApp(db, { options, dist })
  await expect(old).rejects.toThrow('this hookonce knows up to 3')
})
