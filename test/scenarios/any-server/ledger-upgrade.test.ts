import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { deadWorkers } from '../../../src/ledger/jobs/workers.ts'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import type { TestDatabase } from '../../support/database.ts'
import { expectExactCounts } from '../../support/failure-oracle.ts'
import { type TestHooks, testHooks } from '../../support/hooks.ts'
import { ledgerOfVersion, NEWEST } from '../../support/old-schema.ts'
import {
  ENTITY,
  effectKey,
  OLD_MASTER_KEY,
  ORDERED,
  oldDownstreamKey,
  oldJobs,
  receiptOf,
  seedOldWork,
} from '../../support/old-work.ts'
import { until } from '../../support/until.ts'

/*
 * Ledgers of every schema version, with work in every state, are migrated, and their work is
 * finished.
 */

interface Finished {
  /** The types of the events, in the order in which their handlers ran. */
  readonly runs: string[]
  /** The results of steps and effects that handlers got, by type. */
  readonly results: Map<string, unknown>
  /** The idempotency keys of the calls that were made, by type. */
  readonly calls: Map<string, string>
  readonly published: Map<string, string[]>
  /** The largest number of events of one order key that ran at the same time. */
  together: number
}

function finishing(db: TestDatabase): { hooks: TestHooks; finished: Finished } {
  const finished: Finished = {
    runs: [],
    results: new Map(),
    calls: new Map(),
    published: new Map(),
    together: 0,
  }
  const { runs, results, calls, published } = finished
  const hooks = testHooks(db, {
    leaseMs: 1_000,
    encryption: { key: OLD_MASTER_KEY },
    retry: { baseDelayMs: 1, maxDelayMs: 1 },
    outbox: {
      publishers: {
        '*': ({ key, payload }) => {
          published.set(String(key), [...(published.get(String(key)) ?? []), String(payload)])
        },
      },
    },
  })
  hooks.on(
    'test',
    'w.*',
    async ({ type, payload }, ctx) => {
      expect(payload).toMatchObject({ type })
      runs.push(type)
      const mode = type === 'w.keyed' || type === 'w.done' ? 'keyed' : 'atMostOnce'
      if (type === 'w.step' || type === 'w.last')
        results.set(type, await ctx.transaction(async () => 'was done again'))
      if (type === 'w.stale') results.set(type, await ctx.latest(ENTITY, 9, () => Promise.resolve()))
      if (['w.keyed', 'w.once', 'w.done', 'w.attention'].includes(type))
        results.set(
          type,
          await ctx.effect(
            effectKey(type),
            ({ idempotencyKey }) => {
              calls.set(type, idempotencyKey)
              return 'sent'
            },
            { mode },
          ),
        )
    },
    { name: 'app' },
  )
  let running = 0
  hooks.on(
    'test',
    'o.*',
    async ({ type }) => {
      runs.push(type)
      running += 1
      finished.together = Math.max(finished.together, running)
      await turn()
      running -= 1
    },
    { name: 'ordered', ordered: () => 'key' },
  )
  return { hooks, finished }
}

async function stateOf(db: TestDatabase, type: string): Promise<string | undefined> {
  const rows = await db.rows<{ state: string }>(
    'select state::text from hookonce.job where receipt_id = $1',
    [receiptOf(type)],
  )
  return rows[0]?.state
}

const by = { by: 'the test', why: 'an upgrade' }

test.each(Array.from({ length: NEWEST }, (_, index) => index + 1))(
  'work of schema %i is finished after the upgrade',
  async (version) => {
    const db = await ledgerOfVersion(version)
    const liveWorker = await seedOldWork(db, version)
    const types = oldJobs(version).map(({ type }) => type)
    const has = (type: string): boolean => types.includes(type)

    expect(await migrate(db.pool)).toHaveLength(NEWEST - version)
    await expectExactCounts(db, 'after the migration')
    // Like a process that has reached the ledger for as long as the lease of an older build.
    await deadWorkers(db.pool, { graceMs: 0, contactMs: 60_000 })
    const { hooks, finished } = finishing(db)
    await hooks.start()

    const settledAlone = [...types, ...ORDERED].filter(
      (type) => !['w.live', 'w.failed', 'w.once', 'w.attention'].includes(type),
    )
    for (const type of settledAlone)
      await until(`${type} is processed`, async () => (await stateOf(db, type)) === 'processed')

    // Old work that waits for its worker or an operator.
    expect(await stateOf(db, 'w.live')).toBe('processing')
    expect(await stateOf(db, 'w.failed')).toBe('failed')
    const settled = await db.rows(
      `update hookonce.job set state = 'processed', worker = null, finished_at = now()
       where worker = $1 and fence = 1 and state = 'processing' returning 1`,
      [liveWorker],
    )
    expect(settled).toHaveLength(1)
    await hooks.replay(receiptOf('w.failed'))
    if (has('w.last')) await hooks.replay(receiptOf('w.last'))
    if (has('w.once')) {
      await until('w.once is in attention', async () => (await stateOf(db, 'w.once')) === 'attention')
      await hooks.attention.confirmDone(effectKey('w.once'), { ...by, result: 'an operator knows' })
      await hooks.attention.confirmNotDone(effectKey('w.attention'), by)
    }
    for (const type of [...types, ...ORDERED])
      await until(`${type} is processed`, async () => (await stateOf(db, type)) === 'processed')

    // Jobs from before version 5 have no place in an order: they run one at a time, in any order.
    const ordered = finished.runs.filter((type) => type.startsWith('o.'))
    expect(version >= 5 ? ordered : ordered.sort()).toEqual(ORDERED)
    expect(finished.together).toBe(1)
    for (const type of ['w.live', 'w.processed']) expect(finished.runs).not.toContain(type)
    for (const type of ['w.received', 'w.dead', 'w.silent', 'w.retrying', 'w.crashed', 'w.failed'])
      expect(finished.runs.filter((run) => run === type)).toHaveLength(1)
    if (version >= 2)
      expect(Object.fromEntries(finished.results)).toMatchObject({ 'w.step': { charge: 'ch_old' } })
    if (version >= 2) expect(finished.results.get('w.last')).toBeUndefined()
    if (version >= 3) await expectEffects(db, finished)
    if (version >= 4) await expectMessages(db, finished)
    await expectKept(db)
  },
)

async function expectEffects(db: TestDatabase, { calls, results }: Finished): Promise<void> {
  expect([...calls.keys()].sort()).toEqual(['w.attention', 'w.keyed'])
  expect(calls.get('w.keyed')).toBe(oldDownstreamKey('w.keyed'))
  expect(calls.get('w.attention')).not.toBe(oldDownstreamKey('w.attention'))
  expect(Object.fromEntries(results)).toMatchObject({
    'w.keyed': 'sent',
    'w.done': 'sent by the old binary',
    'w.once': 'an operator knows',
    'w.attention': 'sent',
    'w.stale': { outcome: 'stale' },
  })
  expect(await db.number(`select count(*) from hookonce.effect where state not in ('done', 'failed')`)).toBe(
    0,
  )
  expect(await db.number('select count(*) from hookonce.attention')).toBe(0)
}

async function expectMessages(db: TestDatabase, { published }: Finished): Promise<void> {
  await until('all messages are published', async () => {
    return (await db.number(`select count(*) from hookonce.outbox where state <> 'published'`)) === 0
  })
  expect(Object.fromEntries(published)).toEqual({
    waiting: ['waiting 1', 'waiting 2'],
    leased: ['leased 1', 'leased 2'],
  })
}

/** Recorded data that is not work. */
async function expectKept(db: TestDatabase): Promise<void> {
  expect(await db.rows('select count from hookonce.duplicate')).toEqual([{ count: 1 }])
  expect(await db.rows('select code, count::int, diagnosis from hookonce.rejection')).toEqual([
    { code: 'SIGNATURE_MISMATCH', count: 3, diagnosis: '' },
  ])
  expect(await db.number('select count(*) from hookonce.lane')).toBe(0)
}
