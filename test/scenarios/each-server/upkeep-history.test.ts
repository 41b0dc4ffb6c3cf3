import { expect, test } from 'vitest'
import { oldestDue } from '../../../src/ledger/alerts/readings.ts'
import type { Queryable } from '../../../src/ledger/driver/statement.ts'
import { claimProbe, dueProbe } from '../../../src/ledger/jobs/circuits.ts'
import { claimJobs, dueShards, dueSuspects, putOffSuspect } from '../../../src/ledger/jobs/claim.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { dropBodies, dropReceipts, lockBodies, lockKeys } from '../../../src/ledger/receipts/retention.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { pagesTouched, textOf } from '../../support/plans.ts'

/*
 * The cost of a statement must not grow with stored, waiting or running work. Plans are generic, as
 * a connection keeps them. The test counts the pages that each plan touches, on a small ledger and
 * on a large one.
 */
const LITTLE = 500
const MUCH = 20_000
const SHARD = 3
const BATCH = 20

const job = {
  shard: SHARD,
  receiptId: '00000000-0000-0000-0000-000000000000',
  subscriber: 1,
  fence: 1,
  state: 'processed',
  delayMs: 0,
  returnAttempt: false,
  reason: undefined,
  steps: 0,
} as const

const statements = [
  {
    name: 'look for due work',
    ask: (db: Queryable) => dueShards(db, { shards: SHARD + 1, subscribers: [1] }),
    with: async () => `(${SHARD + 1}, '{1}')`,
  },
  {
    name: 'claim',
    ask: (db: Queryable) => claimJobs(db, { shard: SHARD, worker: 1, slots: new Map() }),
    with: async () => `(${SHARD}, '{1}', '{${BATCH}}', 1, 0, 1)`,
  },
  {
    name: 'look for suspects',
    ask: (db: Queryable) => dueSuspects(db, [1]),
    with: async () => `('{1}')`,
  },
  {
    name: 'put off a suspect',
    ask: (db: Queryable) => putOffSuspect(db, { shard: SHARD, subscribers: [1], ms: 1 }),
    with: async () => `(${SHARD}, '{1}', 1)`,
  },
  {
    name: 'look for a probe',
    ask: (db: Queryable) => dueProbe(db, { shards: SHARD + 1, limiter: 1, subscribers: [1] }),
    with: async () => `(${SHARD + 1}, 1, '{1}')`,
  },
  {
    name: 'claim a probe',
    ask: (db: Queryable) =>
      claimProbe(db, { shard: SHARD, subscriber: 1, limiter: 1, worker: 1, withinMs: 1 }),
    with: async () => `(${SHARD}, 1, 1, 1, 1)`,
  },
  {
    name: 'settle',
    ask: (db: Queryable) => settleJobs(db, [job]),
    with: async (db: TestDatabase) => {
      const [leased] = await db.rows<Record<string, string>>(`
        select array_agg(shard)::text as shards, array_agg(receipt_id)::text as receipts,
          array_agg(subscriber)::text as subscribers, array_agg(fence)::text as fences
        from (select * from hookonce.job where worker = 1 order by receipt_id limit ${BATCH}) j`)
      return `('${Object.values(leased ?? {}).join("', '")}')`
    },
  },
  {
    name: 'rescue',
    ask: (db: Queryable) => rescueJobs(db, { shard: SHARD, deadWorkers: [2], limit: BATCH, isCrash: true }),
    with: async () => `(${SHARD}, '{2}', ${BATCH}, 1)`,
  },
  {
    name: 'the oldest due job, for alerts',
    ask: (db: Queryable) => oldestDue(db, SHARD + 1),
    with: async () => `(${SHARD + 1})`,
  },
  {
    name: 'sweep of bodies',
    ask: (db: Queryable) => lockBodies(db, SHARD, BATCH),
    with: async () => `(${SHARD}, ${BATCH})`,
  },
  {
    name: 'drop of bodies',
    ask: (db: Queryable) => dropBodies(db, SHARD, []),
    with: async (db: TestDatabase) => `(${SHARD}, '${await oldest(db)}')`,
  },
  {
    name: 'sweep of keys',
    ask: (db: Queryable) => lockKeys(db, SHARD, BATCH),
    with: async () => `(${SHARD}, ${BATCH})`,
  },
  {
    name: 'drop of receipts',
    ask: (db: Queryable) => dropReceipts(db, SHARD, []),
    with: async (db: TestDatabase) => `(${SHARD}, '${await oldest(db)}')`,
  },
]

async function oldest(db: TestDatabase): Promise<string> {
  const [found] = await db.rows<{ ids: string }>(
    `select array_agg(id)::text as ids from (select id from hookonce.receipt order by received_at limit ${BATCH}) r`,
  )
  return found?.ids ?? '{}'
}

test('the cost of a search, a claim, a settlement, a rescue and a sweep does not grow with the ledger', {
  timeout: 120_000,
}, async () => {
  const [little, much] = [await ledgerWith(LITTLE), await ledgerWith(MUCH)]
  for (const { name, ask, with: valuesOf } of statements) {
    const text = await textOf(ask)
    const [few, many] = [
      await pagesTouched(little, text, await valuesOf(little)),
      await pagesTouched(much, text, await valuesOf(much)),
    ]
    expect(
      many.pages,
      `${name}: ${few.pages} pages with ${LITTLE} receipts, ${many.pages} with ${MUCH}`,
    ).toBeLessThan(2 * few.pages + 100)
    // With other data the same plan might touch more pages.
    expect(many.readThrough, `${name} reads through`).toEqual([])
  }
})

/**
 * A shard with this many receipts: a fifth each finished and old, finished, due, and leased to
 * workers 1 and 2. The due jobs are at the end of the table, so a scan that expects to find them
 * early reads all of it.
 */
async function ledgerWith(receipts: number): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.pool.query(`
    insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', 's', 7776000, 2592000);
    insert into hookonce.limiter (id, name, has_circuit, state, probe_at) overriding system value
      values (1, 'l', true, 'open', now());
    insert into hookonce.subscriber (id, tenant, source, name, pattern, limiter) overriding system value
      values (1, 'default', 's', 'on', '*', 1);
    create temp table part on commit drop as
      select gen_random_uuid() as id, n % 5 as kind from generate_series(1, ${receipts}) n;
    insert into hookonce.receipt (shard, id, received_at, tenant, source, event_key, event_type, secret, headers, body)
      select ${SHARD}, id, now() - case when kind = 0 then interval '1 year' else interval '1 second' end,
        'default', 's', id::text, 't', 1, '', convert_to(repeat('x', 500), 'UTF8')
      from part;
    insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, started_at, finished_at)
      select ${SHARD}, id, 1,
        (array['processed', 'processed', 'received', 'processing', 'processing'])[kind + 1]::hookonce.job_state,
        case when kind >= 3 then kind - 2 end, 1, now(), case when kind < 2 then now() end
      from part order by kind = 2;
    analyze`)
  return db
}
