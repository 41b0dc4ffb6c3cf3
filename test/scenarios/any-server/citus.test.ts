import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { setSchema, setShape } from '../../../src/ledger/driver/schema.ts'
import { endEffect, startEffect } from '../../../src/ledger/effects/effects.ts'
import { recordStep } from '../../../src/ledger/effects/steps.ts'
import { insertReceipts } from '../../../src/ledger/jobs/accept.ts'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { registerSource, registerSubscriber } from '../../../src/ledger/jobs/subscribers.ts'
import { enlistWorker } from '../../../src/ledger/jobs/workers.ts'
import { nodeOf } from '../../../src/ledger/places/citus.ts'
import { migrateDatabase } from '../../../src/operate/migrate.ts'
import { NEEDS_CITUS } from '../../support/declared-skips.ts'

const ID = '00000000-0000-4000-8000-000000000001'

test('accept, claim, effect, step and settle reach one node, without a two-phase commit', async (context) => {
  const url = process.env.HOOKONCE_CITUS_URL
  if (!url) return context.skip(NEEDS_CITUS)
  const schema = `hookonce_test_${process.pid}`
  await migrateDatabase(url, schema, { isDistributed: true })
  const pool = setSchema(new pg.Pool({ connectionString: url, max: 2 }), schema)
  setShape(pool, 'distributed')
  onTestFinished(async () => {
    await pool.query(`drop schema "${schema}" cascade`)
    await pool.end()
  })
  await registerSource(pool, { tenant: 'default', name: 'github', keySeconds: 60, bodySeconds: 60 })
  const subscriber = await registerSubscriber(pool, {
    tenant: 'default',
    source: 'github',
    name: 'push',
    pattern: 'push',
  })
  const { id: worker } = await enlistWorker(pool, {
    leaseMs: 60_000,
    host: 'a',
    pid: 1,
    serves: [subscriber],
  })
  const node = await nodeOf(pool)

  const commands: string[] = []
  pool.on('connect', (client) => {
    client.on('notice', ({ message = '', detail = '' }) => commands.push(`${message} ${detail}`))
  })
  pool.options.onConnect = async (client) => {
    await client.query('set citus.log_remote_commands = on')
  }
  await endIdle(pool)

  const receipt = {
    shard: 0,
    id: ID,
    tenant: 'default',
    source: 'github',
    eventKey: 'k',
    eventType: 'push',
    objectId: undefined,
    occurredAtMs: undefined,
    secret: 1,
    headers: '{}',
    body: Buffer.from('{}'),
  }
  const jobs = [{ subscriber, bornLeased: false, orderKey: undefined }]
  const work = { receipt, jobs } as unknown as Parameters<typeof insertReceipts>[1][number]
  expect(await insertReceipts(pool, [work], { worker: undefined, shards: 16 })).toEqual([])
  const [claimed] = await claimJobs(pool, { shard: 0, worker, slots: new Map([[subscriber, 1]]) })
  if (!claimed) throw new Error('the job was not claimed')
  const job = { shard: 0, receiptId: ID, subscriber, fence: claimed.fence }
  const effect = { shard: 0, id: ID, tenant: 'default', key: 'mail' }
  expect(
    await startEffect(pool, { effect, job, epoch: 0, mode: 'keyed', inputHash: null, downstreamKey: 'd' }),
  ).toBe(true)
  expect(await endEffect(pool, { effect, job, epoch: 0, state: 'done', result: null, reason: null })).toBe(
    true,
  )
  await recordStep(pool, { job, epoch: 0, name: 'first', result: null })
  const failed = { state: 'failed', delayMs: 0, returnAttempt: false, reason: 'no', steps: 1 } as const
  expect(await settleJobs(pool, [{ ...job, ...failed }])).toEqual([true])

  const { rows } = await pool.query(`select state::text as state from "${schema}".job`)
  expect(rows).toEqual([{ state: 'failed' }])
  const remote = commands.filter((command) => command.startsWith('issuing '))
  expect(remote.length).toBeGreaterThan(5)
  expect(remote.filter((command) => /PREPARE TRANSACTION/i.test(command))).toEqual([])
  expect(remote.filter((command) => !command.includes(`${node?.host}:${node?.port}`))).toEqual([])
})

/** Closes the connections that were opened before they logged their commands. */
async function endIdle(pool: pg.Pool): Promise<void> {
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  for (const client of clients) client.release(true)
}
