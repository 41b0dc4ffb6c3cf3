import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { statements } from '../../../src/keys/stores/postgres/statements.ts'
import { inTransaction, limitIdle } from '../../../src/ledger/driver/in-transaction.ts'
import { afterJobs } from '../../../src/ledger/driver/sessions.ts'
import { endEffect, startEffect } from '../../../src/ledger/effects/effects.ts'
import { recordStep } from '../../../src/ledger/effects/steps.ts'
import { insertReceipts } from '../../../src/ledger/jobs/accept.ts'
import { completeWithStep, completeWritten, type LastStep } from '../../../src/ledger/jobs/complete.ts'
import { requireLive } from '../../../src/ledger/jobs/fence.ts'
import type { JobRef } from '../../../src/ledger/jobs/job-ref.ts'
import type { NewWork } from '../../../src/ledger/jobs/new-work.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { enlistWorker } from '../../../src/ledger/jobs/workers.ts'
import { copyTenant, deleteTenant } from '../../../src/ledger/places/tenant-rows.ts'
import { insertImported } from '../../../src/ledger/receipts/import.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'

/*
 * The durable statements themselves demand durability: a session, a role or a database that does
 * not wait for the disk changes nothing. test/scenarios/own-server/durability.test.ts shows the
 * state after a real crash.
 */
const RECEIPT_ID = '0a000000-0000-4000-8000-000000000000'
const JOB: JobRef = { shard: 0, receiptId: RECEIPT_ID, subscriber: 1, fence: 1 }
const EFFECT = { shard: 0, id: '0b000000-0000-4000-8000-000000000000', tenant: 'default', key: 'once' }

const work = (orderKey?: string): NewWork => ({
  receipt: {
    id: '0c000000-0000-4000-8000-000000000000',
    shard: 0,
    tenant: 'default',
    source: 'test',
    eventKey: 'evt',
    eventType: 'a',
    objectId: undefined,
    occurredAtMs: undefined,
    secret: 1,
    headers: '',
    body: Buffer.from('{}'),
    keySeconds: 60,
  },
  jobs: [{ subscriber: 1, bornLeased: true, orderKey }],
})

const OTHER: NewWork = {
  receipt: { ...work().receipt, id: '00000000-0000-4000-8000-000000000002', eventKey: 'other' },
  jobs: [],
}

const keys = statements('hookonce_key')
const KEY = Buffer.alloc(16)

function lastStep(result: string | null): LastStep {
  return { job: JOB, epoch: 0, name: 'last', result, steps: 0, reason: null }
}

const PROMISES: readonly (readonly [
  name: string,
  run: (db: pg.PoolClient, worker: number) => Promise<unknown>,
])[] = [
  ['accept', (db) => insertReceipts(db, [work()], { worker: undefined, shards: 16 })],
  ['accept leased', (db, worker) => insertReceipts(db, [work()], { worker, shards: 16 })],
  ['accept a batch', (db) => insertReceipts(db, [work(), OTHER], { worker: undefined, shards: 16 })],
  ['accept a leased batch', (db, worker) => insertReceipts(db, [work(), OTHER], { worker, shards: 16 })],
  ['accept in order', (db, worker) => insertReceipts(db, [work(EFFECT.id)], { worker, shards: 16 })],
  ['enlist a worker', (db) => enlistWorker(db, { leaseMs: 1_000, host: 'a', pid: 1, serves: [] })],
  ['import', (db) => insertImported(db, work().receipt, [work().receipt])],
  ['complete', (db) => settleJobs(db, [{ ...settlement(JOB, 'processed'), reason: undefined }])],
  ['settle', (db) => settleJobs(db, [settlement(JOB, 'retrying')])],
  ['complete written', (db) => completeWritten(db, [{ job: JOB, step: '(write)', steps: 0 }])],
  ['complete with steps', (db) => settleJobs(db, [{ ...settlement(JOB, 'processed'), steps: 1 }])],
  ['complete with a step', (db) => completeWithStep(db, lastStep(null))],
  ['complete with a result', (db) => completeWithStep(db, lastStep('1'))],
  ['record a step', (db) => recordStep(db, { job: JOB, epoch: 0, name: 'one', result: null })],
  ['start an effect', (db) => requireLive(db, JOB)],
  [
    'end an effect',
    async (db) => {
      await startEffect(db, {
        effect: EFFECT,
        job: JOB,
        epoch: 0,
        mode: 'keyed',
        inputHash: null,
        downstreamKey: 'k',
      })
      await endEffect(db, { effect: EFFECT, job: JOB, epoch: 0, state: 'done', result: null, reason: null })
    },
  ],
  ['acquire a key', (db) => db.query(keys.acquire, [KEY, 'f', 'h', 1000, 1000, true])],
  [
    'settle a key',
    (db) => held(db, () => db.query(keys.settle, [KEY, 1, 'completed', Buffer.alloc(0), 1000])),
  ],
  ['give a key up', (db) => held(db, () => db.query(keys.giveUp, [KEY, 1]))],
  ['save a step of a key', (db) => held(db, () => db.query(keys.saveStep, [KEY, 1, 'one', Buffer.alloc(0)]))],
  ['save a pledge', (db) => db.query(keys.savePledge, [KEY, 'n', Buffer.alloc(0), 1000, 1000])],
]

/**
 * The lock expired long ago: the store compares whole milliseconds, so `now()` may be ahead of it.
 */
async function held(db: pg.PoolClient, then: () => Promise<unknown>): Promise<void> {
  await db.query(
    `insert into hookonce_key (id, state, fence, fingerprint, holder, after, locked_at, lock_until, expires_at)
     values ($1, 'locked', 1, '', '', 'nothing', now(), now() - interval '1 second', now() + interval '1 hour')`,
    [KEY],
  )
  await then()
}

async function setting(db: pg.PoolClient): Promise<string> {
  const result = await db.query(`select current_setting('synchronous_commit') as value`)
  return String(result.rows[0]?.value)
}

test.each(PROMISES)('%s waits for the disk, and lowers no stronger setting', async (_, run) => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { shard: 0 })
  await db.rows(keys.create)
  const worker = await seedWorker(db)
  await db.rows('update hookonce.receipt set id = $1', [RECEIPT_ID])
  await db.rows(
    `update hookonce.job set receipt_id = $1, state = 'processing', fence = 1, attempt = 1, worker = $2, started_at = now()`,
    [RECEIPT_ID, worker],
  )
  const client = await db.pool.connect()
  try {
    const kept: Record<string, string> = {}
    for (const given of ['off', 'local', 'remote_write', 'on', 'remote_apply']) {
      await client.query(`begin; set local synchronous_commit = ${given}`)
      await run(client, worker)
      kept[given] = await setting(client)
      await client.query('rollback')
    }
    expect(kept).toEqual({
      off: 'on',
      local: 'local',
      remote_write: 'remote_write',
      on: 'on',
      remote_apply: 'remote_apply',
    })
  } finally {
    client.release()
  }
})

describe('on a database that does not wait for the disk', () => {
  async function carelessPool(max = 1): Promise<pg.Pool> {
    const db = await freshDatabase()
    const name = new URL(db.url).pathname.slice(1)
    await db.rows(`alter database ${name} set synchronous_commit = off`)
    const pool = quietPool(new pg.Pool({ connectionString: db.url, max }))
    pool.on('error', () => undefined)
    onTestFinished(() => pool.end())
    return pool
  }

  test('the sessions of the ledger wait for it', async () => {
    const pool = limitIdle(await carelessPool(), 5_000)
    const client = await pool.connect()
    onTestFinished(() => client.release())
    expect(await setting(client)).toBe('on')
  })

  test('so do its transactions where sessions are not its own', async () => {
    const pool = await carelessPool()
    const inside = await inTransaction(pool, async (client) => {
      const value = await setting(client)
      await client.query('commit')
      return value
    })
    expect(inside).toBe('on')
  })

  test('so does every commit of a move', async () => {
    const pool = await carelessPool(3)
    const tables = ['source', 'subscriber', 'data_key', 'audit', 'sweep']
    await pool.query(`insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', 'a', 1, 1);
      insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', 'a', 'b', '*');
      insert into hookonce.data_key (tenant, purpose, wrapped, master) values ('default', 'payload', '\\x00', 'm');
      insert into hookonce.audit (actor, action, why, tenant, subject, detail) values ('a', 'b', 'c', 'default', 's', '{}');
      create table seen (place text, setting text);
      create function see() returns trigger language plpgsql as $$ begin
        insert into public.seen values (tg_op || ' ' || tg_table_name, current_setting('synchronous_commit'));
        return null;
      end $$`)
    for (const table of tables)
      await pool.query(`create trigger see after insert or update or delete on hookonce.${table}
        for each statement execute function see()`)
    await copyTenant({
      from: pool,
      to: pool,
      shards: 16,
      tenant: 'default',
      beforeBatch: () => Promise.resolve(),
    })
    await deleteTenant(pool, 16, 'default')
    const seen = await pool.query('select distinct place, setting from seen')
    const places = tables.flatMap((table) =>
      (table === 'sweep' ? ['DELETE'] : ['INSERT', 'DELETE']).map((verb) => `${verb} ${table}`),
    )
    expect(seen.rows.map(({ place, setting }) => [place, setting]).sort()).toEqual(
      [...places, 'UPDATE subscriber'].map((place) => [place, 'on']).sort(),
    )
  })

  test('so does a commit after jobs, whose session is reset', async () => {
    const client = await (await carelessPool()).connect()
    onTestFinished(() => client.release())
    await client.query('begin')
    for (const { text, values } of afterJobs(client, { idleMs: 5_000, isAlone: true }))
      await client.query(text, [...values])
    expect(await setting(client)).toBe('on')
    await client.query('rollback')
  })
})
