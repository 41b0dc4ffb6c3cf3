import { expect, test } from 'vitest'
import { replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { readStatus } from '../../../src/operate/status.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase } from '../../support/database.ts'
import { NEEDS_GIT_HISTORY } from '../../support/declared-skips.ts'
import { expectExactCounts } from '../../support/failure-oracle.ts'
import { MIGRATION_FILES } from '../../support/old-schema.ts'
import { buildBefore } from '../../support/older-build.ts'
import { until } from '../../support/until.ts'

test('failures of a build that keeps no counts are counted', async (context) => {
  const migration = MIGRATION_FILES.find((file) => file.endsWith('-failure-counts.sql')) ?? ''
  const dist = buildBefore(migration)
  if (dist === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await freshDatabase()
  const old = await startApp(db, { options: { pollMs: 20 }, dist })
  for (let n = 0; n < 5; n += 1) {
    const response = await old.send({ id: `evt_${n}`, type: n < 3 ? 'permanent.a' : 'count.a' })
    expect(response.status).toBe(202)
  }
  const failedAs = (attempt: string): string =>
    `select count(*) from hookonce.job where state = 'failed' and fence ${attempt}`
  await until('three failed', async () => (await db.number(failedAs('= 1'))) === 3)
  await expectExactCounts(db, 'the older build failed three')
  // It fails one of them again.
  const [job] = await db.rows<{ shard: number; receiptId: string }>(
    `select shard, receipt_id as "receiptId" from hookonce.job where state = 'failed' limit 1`,
  )
  const { shard, receiptId } = job ?? { shard: 0, receiptId: '' }
  await replayJobs(db.pool, { shard, receiptIds: [receiptId], subscribers: undefined, states: ['failed'] })
  await expectExactCounts(db, 'one is replayed')
  await until('it failed again', async () => (await db.number(failedAs('> 1'))) === 1)
  old.kill('SIGTERM')
  await old.exited()
  await expectExactCounts(db, 'the older build has ended')
  // The present build adds up the changes that the older build has left.
  const now = await startApp(db, { options: { pollMs: 20 } })
  await until('all is added up', async () => {
    return (await db.number('select count(*) from hookonce.failure_change')) === 0
  })
  await expectExactCounts(db, 'all is added up')
  expect((await readStatus({ pool: db.pool, shards: 16 })).totals.failed).toBe(3)
  now.kill('SIGTERM')
  await now.exited()
})
