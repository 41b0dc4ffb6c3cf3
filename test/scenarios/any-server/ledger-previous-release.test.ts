import { expect, test } from 'vitest'
import { MIGRATIONS, migrationsIn } from '../../../src/ledger/migrations/numbered-files.ts'
import { type App, startApp } from '../../support/app.ts'
import { cli } from '../../support/cli.ts'
import type { TestDatabase } from '../../support/database.ts'
import { NEEDS_GIT_HISTORY } from '../../support/declared-skips.ts'
import { previousRelease } from '../../support/older-build.ts'
import { emptyDatabase, expectEachOnce, type Load, load } from '../../support/steady-load.ts'
import { until } from '../../support/until.ts'

/*
 * An upgrade as in docs/upgrades.md: the previous release serves, the new command line migrates its
 * ledger, and new processes replace the old ones. Then a rollback, and the upgrade again.
 */

const options = { pollMs: 20, retry: { baseDelayMs: 500, maxDelayMs: 1_000, maxAttempts: 1_000 } }
const stop = { drainMs: 500 }

/** Starts processes of a build, and stops the previous ones, while events keep arriving. */
async function deploy(db: TestDatabase, sending: Load, dist: string | undefined): Promise<void> {
  const before = sending.targets()
  const next = await startApp(db, { options, stop, ...(dist && { dist }) })
  sending.targets = () => [...before, next]
  await works(db, next)
  sending.targets = () => [next]
  for (const app of before) app.kill('SIGTERM')
  expect(await Promise.all(before.map((app) => app.exited()))).toEqual(before.map(() => 0))
  await works(db, next)
}

/** Waits until a process has handled ten more events. */
async function works(db: TestDatabase, { pid }: App): Promise<void> {
  const handled = (): Promise<number> => db.number('select count(*) from run where pid = $1', [pid])
  const before = await handled()
  await until('the process works', async () => (await handled()) >= before + 10)
}

test('the previous release is upgraded under load, brought back, and upgraded again', {
  timeout: 180_000,
}, async (context) => {
  const previous = previousRelease()
  if (previous === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await emptyDatabase()
  const first = await startApp(db, { options, stop, dist: previous })
  const release = await db.number('select max(id) from hookonce.migration')
  const sending = load(() => [first])
  await works(db, first)

  const added = (await migrationsIn(MIGRATIONS)).filter(({ id }) => id > release)
  const { code, stdout } = await cli(['migrate'], { DATABASE_URL: db.url })
  expect(code).toBe(0)
  for (const { name } of added) expect(stdout).toContain(name)
  await deploy(db, sending, undefined)
  // A migration may forbid a rollback. In that case docs/upgrades.md documents it.
  if (added.every(({ oldestBinary }) => oldestBinary <= release)) {
    await deploy(db, sending, previous)
    await deploy(db, sending, undefined)
  }
  await sending.stop()
  await expectEachOnce(db, { events: sending.sent, sent: sending.sent })
})
