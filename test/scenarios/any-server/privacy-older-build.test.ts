import { expect, test } from 'vitest'
import { startApp } from '../../support/app.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { NEEDS_GIT_HISTORY } from '../../support/declared-skips.ts'
import { newKey } from '../../support/encryption.ts'
import { jobsAre } from '../../support/jobs.ts'
import { MIGRATION_FILES } from '../../support/old-schema.ts'
import { buildBefore } from '../../support/older-build.ts'
import { receiving } from '../../support/receiver.ts'

test('a build that knows no encryption never runs an encrypted event, and the event can be replayed', async (context) => {
  const migration = MIGRATION_FILES.find((file) => file.endsWith('-encryption.sql')) ?? ''
  const dist = buildBefore(migration)
  if (dist === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await freshDatabase()
  const subscriber = { name: '*' }
  const old = await startApp(db, { options: { pollMs: 20 }, subscriber, dist, receives: false })
  const encryption = { key: newKey() }
  const { send, stop } = receiving(db, { options: { encryption } })
  await send({ id: 'evt_1', type: 'count.a' })
  await stop()
  await jobsAre(db, 'failed')
  expect(await db.number('select count(*) from run')).toBe(0)
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining('BODY_EXPIRED') },
  ])
  old.kill('SIGTERM')
  await old.exited()
  const now = await startApp(db, { options: { pollMs: 20, encryption }, subscriber, receives: false })
  const replayed = await cli(['replay', '--failed'], { DATABASE_URL: db.url })
  expect(replayed.stderr).toBe('')
  await jobsAre(db, 'processed')
  expect(await db.number('select count(*) from effect where type = $1', ['count.a'])).toBe(1)
  now.kill('SIGTERM')
})
