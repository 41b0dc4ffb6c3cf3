import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { decideAttention } from '../../../src/operate/attention.ts'
import { quietPool } from '../../../src/sql/quiet-pool.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { withUnknownEffects } from '../../support/unknown-effects.ts'
import { until } from '../../support/until.ts'

interface Stopped {
  readonly db: TestDatabase
  readonly hooks: TestHooks
  readonly ids: readonly string[]
  readonly keys: string[]
  readonly results: unknown[]
}

/** Two events that request one effect, whose first call is lost: both jobs wait for a person. */
async function stopped(): Promise<Stopped> {
  const db = await freshDatabase()
  const keys: string[] = []
  const results: unknown[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1 } }).on(
    'test',
    '*',
    async (_, ctx) => {
      const result = await ctx.effect(
        'charge:in_1',
        ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          if (keys.length === 1) throw new Error('the reply was lost')
          return { id: 'ch_2' }
        },
        { mode: 'atMostOnce' },
      )
      results.push(result)
    },
    { name: 'app' },
  )
  await hooks.start()
  const ids = [await deliver(hooks, { id: 'evt_1', type: 'a' })]
  await jobsAre(db, 'attention', 1)
  ids.push(await deliver(hooks, { id: 'evt_2', type: 'a' }))
  await jobsAre(db, 'attention', 2)
  return { db, hooks, ids, keys, results }
}

const by = { by: 'ann', why: 'asked the bank' }

test('confirm-done: the jobs continue with the given result, and nothing is called', async () => {
  const { db, hooks, keys, results } = await stopped()
  expect(await hooks.attention.list()).toMatchObject([
    { key: 'charge:in_1', mode: 'atMostOnce', downstreamKey: keys[0], jobs: [{ subscriber: 'app' }, {}] },
  ])
  expect(await hooks.attention.confirmDone('charge:in_1', { ...by, result: { id: 'ch_1' } })).toEqual({
    key: 'charge:in_1',
    jobs: 2,
  })
  await jobsAre(db, 'processed', 2)
  expect(keys).toHaveLength(1)
  expect(results).toEqual([{ id: 'ch_1' }, { id: 'ch_1' }])
  expect(await hooks.attention.list()).toEqual([])
  expect(await db.rows('select actor, action, why, subject from hookonce.audit')).toEqual([
    { actor: 'ann', action: 'confirm-done', why: 'asked the bank', subject: 'charge:in_1' },
  ])
  expect(await db.number('select count(*) from hookonce.attention')).toBe(0)
})

test('confirm-not-done: it is called once more, with a new key', async () => {
  const { db, hooks, keys, results } = await stopped()
  await hooks.attention.confirmNotDone('charge:in_1', by)
  await jobsAre(db, 'processed', 2)
  expect(keys).toHaveLength(2)
  expect(keys[1]).not.toBe(keys[0])
  expect(results).toEqual([{ id: 'ch_2' }, { id: 'ch_2' }])
})

test('retry-same-key: it is called once more, with the same key', async () => {
  const { db, hooks, keys } = await stopped()
  await hooks.attention.retrySameKey('charge:in_1', by)
  await jobsAre(db, 'processed', 2)
  expect(keys).toHaveLength(2)
  expect(keys[1]).toBe(keys[0])
})

test('abandon: the jobs are failed, and a replay meets the unknown effect again', async () => {
  const { db, hooks, ids, keys } = await stopped()
  await hooks.attention.abandon('charge:in_1', by)
  await jobsAre(db, 'failed', 2)
  expect(await db.rows('select distinct reason from hookonce.job')).toEqual([
    { reason: 'abandoned by ann: asked the bank' },
  ])
  await hooks.replay(ids[0] ?? '')
  await jobsAre(db, 'attention', 1)
  expect(keys).toHaveLength(1)
})

async function unknownEffects(hooks: TestHooks): Promise<string | undefined> {
  return /hookonce_effects_unknown\{[^}]*\} (\d+)/.exec(await hooks.metrics())?.[1]
}

test('a fresh replay releases every job that waits for the effect, and nothing stays listed', async () => {
  const { db, hooks, ids, keys, results } = await stopped()
  await hooks.attention.abandon('charge:in_1', by)
  await jobsAre(db, 'failed', 2)
  // The job whose call was lost is abandoned. The other job waits for the outcome.
  await hooks.replay(ids[1] ?? '')
  await jobsAre(db, 'attention', 1)
  expect(await hooks.attention.list()).toMatchObject([{ jobs: [{ receiptId: ids[1] }] }])
  expect(await unknownEffects(hooks)).toBe('1')

  await hooks.replay(ids[0] ?? '', { fresh: by })
  await jobsAre(db, 'processed', 2)
  expect(keys).toHaveLength(2)
  expect(results).toEqual([{ id: 'ch_2' }, { id: 'ch_2' }])
  expect(await db.number('select count(*) from hookonce.attention')).toBe(0)
  expect(await hooks.attention.list()).toEqual([])
  expect(await unknownEffects(hooks)).toBe('0')
  expect(
    await db.rows(`select detail->'released' as released from hookonce.audit where action = 'replay-fresh'`),
  ).toEqual([{ released: 1 }])
  await expect(hooks.attention.abandon('charge:in_1', by)).rejects.toMatchObject({
    code: 'EFFECT_NOT_UNKNOWN',
  })
})

test('after abandon and a fresh replay of all, nothing stays listed', async () => {
  const { db, hooks, ids } = await stopped()
  await hooks.attention.abandon('charge:in_1', by)
  for (const id of ids) await hooks.replay(id, { fresh: by })
  await jobsAre(db, 'processed', 2)
  expect(await hooks.attention.list()).toEqual([])
  expect(await unknownEffects(hooks)).toBe('0')
})

test.each(['confirmDone', 'confirmNotDone', 'retrySameKey'] as const)(
  'jobs that wait for an effect of known outcome are listed, and %s releases them without changing it',
  async (verb) => {
    const { db, hooks, keys, results } = await stopped()
    // The rows that an older version leaves.
    await db.rows(`update hookonce.effect set state = 'done', result = '{"id": "ch_0"}'`)
    expect(await hooks.attention.list()).toMatchObject([
      {
        key: 'charge:in_1',
        jobs: [{}, {}],
        reason: expect.stringContaining('no decision is needed: the effect is done'),
      },
    ])
    expect(await hooks.attention[verb]('charge:in_1', by)).toMatchObject({ jobs: 2 })
    await jobsAre(db, 'processed', 2)
    expect(keys).toHaveLength(1)
    expect(results).toEqual([{ id: 'ch_0' }, { id: 'ch_0' }])
  },
)

describe('a rescuer that died before it marked the effect as unknown:', () => {
  async function halfRescued() {
    const found = await stopped()
    await found.db.rows(`update hookonce.effect set state = 'started', ended_at = null, reason = null`)
    return found
  }

  test('confirm-done gives its result to the handler', async () => {
    const { db, hooks, keys, results } = await halfRescued()
    expect(await hooks.attention.list()).toMatchObject([
      { key: 'charge:in_1', reason: 'it was called and no reply was recorded', jobs: [{}, {}] },
    ])
    expect(await hooks.attention.confirmDone('charge:in_1', { ...by, result: 7 })).toMatchObject({ jobs: 2 })
    await jobsAre(db, 'processed', 2)
    expect(results).toEqual([7, 7])
    expect(keys).toHaveLength(1)
  })

  test('confirm-not-done lets it be called with a new key', async () => {
    const { db, hooks, keys } = await halfRescued()
    await hooks.attention.confirmNotDone('charge:in_1', by)
    await jobsAre(db, 'processed', 2)
    expect(new Set(keys).size).toBe(2)
  })

  test('a call that another run has taken over is decided by that run', async () => {
    const { db, hooks } = await halfRescued()
    const [caller] = await db.rows<{ id: string }>(
      `update hookonce.job j set state = 'processing', fence = e.fence from hookonce.effect e
       where j.receipt_id = e.receipt_id returning j.receipt_id as id`,
    )
    await db.rows('delete from hookonce.attention where receipt_id = $1', [caller?.id])
    expect(await hooks.attention.list()).toMatchObject([
      { reason: expect.stringContaining('no decision is needed: the effect is started'), jobs: [{}] },
    ])
    expect(await hooks.attention.confirmDone('charge:in_1', { ...by, result: 7 })).toMatchObject({ jobs: 1 })
    expect(await db.rows('select state::text, result from hookonce.effect')).toEqual([
      { state: 'started', result: null },
    ])
  })
})

test('a decision that deadlocks with another one is retried', async () => {
  const { db } = await withUnknownEffects(['one', 'two'])
  // The job that waits for "one" also called "two".
  await db.rows(`update hookonce.effect set state = 'started', reason = null,
    receipt_id = (select receipt_id from hookonce.effect where key = 'one') where key = 'two'`)
  // This session must give up first, but only when the other one waits too.
  const pool = quietPool(new pg.Pool({ connectionString: db.url, options: '-c deadlock_timeout=2s' }))
  const other = await db.pool.connect()
  onTestFinished(async () => {
    other.release(true)
    await pool.end()
  })
  const lock = 'select from hookonce.effect where key = $1 for update'
  await other.query(`begin; set local deadlock_timeout = '1min'`)
  await other.query(lock, ['two'])
  const decided = decideAttention({ pool, shards: 16 }, { key: 'one', verb: 'abandon', ...by })
  await until('the decision waits for "two"', () =>
    db.number(`select count(*) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`),
  )
  await other.query(lock, ['one'])
  await other.query('commit')
  expect(await decided).toEqual({ key: 'one', jobs: 1 })
  expect(await db.rows('select action from hookonce.audit')).toEqual([{ action: 'abandon' }])
  expect(await db.rows('select key, state::text from hookonce.effect order by key')).toEqual([
    { key: 'one', state: 'unknown' },
    { key: 'two', state: 'unknown' },
  ])
})

test('a decision needs a person and a reason, and an effect that is unknown', async () => {
  const { hooks } = await stopped()
  await expect(hooks.attention.confirmDone('charge:in_1', { by: 'ann', why: ' ' })).rejects.toThrow(
    /by. and .why/,
  )
  const unknown = hooks.attention.confirmDone('other', by)
  await expect(unknown).rejects.toMatchObject({ code: 'EFFECT_NOT_UNKNOWN' })
  await hooks.attention.confirmDone('charge:in_1', by)
  await expect(hooks.attention.abandon('charge:in_1', by)).rejects.toMatchObject({
    code: 'EFFECT_NOT_UNKNOWN',
  })
})

test('the command line lists, decides and shows who decided', async () => {
  const { db, ids, keys } = await stopped()
  const env = { DATABASE_URL: db.url }
  const listed = await cli(['attention', 'list'], env)
  expect(listed.stdout).toContain('charge:in_1')
  expect(listed.stdout).toContain(keys[0])
  expect((await cli(['events'], env)).stdout).toContain('attention')
  const silent = await cli(['attention', 'confirm-done', 'charge:in_1'], env)
  expect(silent).toMatchObject({ code: 1 })
  expect(silent.stderr).toContain('--why')
  const confirmed = await cli(
    [
      'attention',
      'confirm-done',
      'charge:in_1',
      '--why',
      'saw it',
      '--by',
      'bob',
      '--result',
      '{"id":"ch_9"}',
    ],
    env,
  )
  expect(confirmed).toMatchObject({ code: 0, stdout: 'charge:in_1: confirm-done, 2 jobs received again\n' })
  await jobsAre(db, 'processed', 2)
  const shown = (await cli(['show', ids[0] ?? ''], env)).stdout
  expect(shown).toMatch(/charge:in_1\s+atMostOnce\s+done/)
  expect(shown).toMatch(/bob\s+confirm-done\s+charge:in_1\s+saw it/)
  expect(await db.rows('select result from hookonce.effect')).toEqual([{ result: { id: 'ch_9' } }])
})
