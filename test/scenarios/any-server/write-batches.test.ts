import fc from 'fast-check'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { meeting } from '../../support/meeting-point.ts'
import { until } from '../../support/until.ts'
import {
  EMPTY_MEMBER_TABLES,
  MEMBER_ROLE,
  MEMBER_ROWS,
  MEMBER_TABLES,
  type Member,
  type MemberStatement,
  memberBatches,
} from '../../support/write-members.ts'

/*
 * Group commit as a property: whatever the members of a batch do, each of them ends as if it had
 * run alone. The oracle is plain pg on a second database: one member after the other, each attempt
 * in a session of its own.
 *
 * More runs, or one run again: `npm run fuzz -- --target writes --cases 500 [--seed 123]`.
 */
const RUNS = Number(process.env.FUZZ_CASES ?? 8)
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)
const MAX_ATTEMPTS = 2
const MAX_MEMBERS = 16

interface Ended {
  readonly kind: string
  readonly state: 'processed' | 'failed'
  readonly attempt: number
}

/** Members that write the same row differ only in their order. */
function sorted(ended: readonly Ended[]): string[] {
  return ended.map(({ kind, state, attempt }) => `${kind}: ${state}, attempt ${attempt}`).sort()
}

async function preparedDatabase(): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.rows(MEMBER_ROLE)
  await db.rows(MEMBER_TABLES)
  // Held while the test runs, for members that wait for a lock.
  const holder = new pg.Client({ connectionString: db.url })
  await holder.connect()
  holder.on('error', () => undefined)
  await holder.query('begin; lock table held in access exclusive mode')
  onTestFinished(() => holder.end())
  return db
}

async function runAlone(db: TestDatabase, { kind, statements, isFinal = false }: Member): Promise<Ended> {
  for (let attempt = 1; ; attempt += 1) {
    const isCommitted = await inOwnSession(db, statements)
    if (isCommitted) return { kind, state: 'processed', attempt }
    if (isFinal || attempt === MAX_ATTEMPTS) return { kind, state: 'failed', attempt }
  }
}

async function inOwnSession(db: TestDatabase, statements: readonly MemberStatement[]): Promise<boolean> {
  const client = new pg.Client({ connectionString: db.url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin')
    for (const { text, values = [], rows } of statements) {
      // The extended protocol, as in ctx.write: one statement per text.
      const { rowCount } = await client.query({
        text,
        values: [...values],
        queryMode: 'extended',
      } as pg.QueryConfig)
      if (rows !== undefined && rows !== rowCount) return false
    }
    const { command } = await client.query('commit')
    return command === 'COMMIT'
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

const ENDED = `select r.event_key as key, j.state::text as state, j.attempt
  from hookonce.job j join hookonce.receipt r on (r.shard, r.id) = (j.shard, j.receipt_id)
  where r.event_key like $1 and j.state in ('processed', 'failed')`
const LOCKS = `select count(*) from pg_locks where locktype = 'advisory' and classid = 0 and objid = 1
  and database = (select oid from pg_database where datname = current_database())`

test(`members of a batch end as if each had run alone (FUZZ_SEED=${SEED})`, {
  timeout: 24 * 3_600_000,
}, async () => {
  const [shared, alone] = await Promise.all([preparedDatabase(), preparedDatabase()])
  let batch: readonly Member[] = []
  let meet = meeting(0)
  const hooks = testHooks(shared, {
    concurrency: MAX_MEMBERS,
    retry: { maxAttempts: MAX_ATTEMPTS, baseDelayMs: 1, maxDelayMs: 1 },
  }).on('test', '*', async (event, ctx) => {
    const one = batch[Number(event.key.split(' ')[1])]
    if (ctx.attempt === 1) await meet()
    for (const { text, values = [], rows } of one?.statements ?? [])
      ctx.write({ text, values: [...values], ...(rows === undefined ? {} : { rows }) })
  })
  await hooks.start()
  let runs = 0

  async function runTogether(members: readonly Member[]): Promise<Ended[]> {
    runs += 1
    batch = members
    meet = meeting(members.length)
    const key = (index: number): string => `${runs} ${index}`
    await Promise.all(members.map((_, index) => deliver(hooks, { id: key(index), type: 'member' })))
    const jobs = await until('every job has ended', async () => {
      const rows = await shared.rows<{ key: string; state: Ended['state']; attempt: number }>(ENDED, [
        `${runs} %`,
      ])
      return rows.length === members.length ? rows : undefined
    })
    return members.map(({ kind }, index) => {
      const { state, attempt } = jobs.find((job) => job.key === key(index)) ?? {}
      return { kind, state: state ?? 'failed', attempt: attempt ?? 0 }
    })
  }

  const property = fc.asyncProperty(memberBatches, async (members) => {
    await Promise.all([shared.rows(EMPTY_MEMBER_TABLES), alone.rows(EMPTY_MEMBER_TABLES)])
    const expected: Ended[] = []
    for (const one of members) expected.push(await runAlone(alone, one))
    const ended = await runTogether(members)
    expect(sorted(ended)).toEqual(sorted(expected))
    expect(await shared.rows(MEMBER_ROWS)).toEqual(await alone.rows(MEMBER_ROWS))
    // A lock that a member left, and that the engine released.
    expect(await shared.number(LOCKS)).toBe(0)
  })
  await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: false })
})
