import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Latest, LatestOptions, VersionInput } from '../../../src/index.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import type { TestPayload } from '../../support/source.ts'
import { until } from '../../support/until.ts'

interface News extends TestPayload {
  readonly entity: string
  readonly version: number
  readonly status: string
}

const UPSERT = `insert into invoice values ($1, $2) on conflict (id) do update set status = excluded.status`

/** Applies the status of each event, if it is the latest; `deleted` removes the invoice. */
async function invoices(
  options: (news: News) => LatestOptions<string> = () => ({}),
  version: (news: News) => VersionInput | undefined = (news) => news.version,
): Promise<{ db: TestDatabase; hooks: TestHooks; outcomes: Latest<unknown>[] }> {
  const db = await freshDatabase()
  await db.rows('create table invoice (id text primary key, status text)')
  const outcomes: Latest<unknown>[] = []
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 1 } }).on(
    'test',
    '*',
    async (event, ctx) => {
      const news = event.payload as News
      const deleted = news.status === 'deleted'
      const outcome = await ctx.latest(
        news.entity,
        version(news),
        async (tx, current) => {
          if (deleted) await tx.query('delete from invoice where id = $1', [news.entity])
          else await tx.query(UPSERT, [news.entity, current ?? news.status])
        },
        { deleted, ...options(news) },
      )
      outcomes.push(outcome)
    },
  )
  await hooks.start()
  return { db, hooks, outcomes }
}

let next = 0
function news(entity: string, version: number, status: string): News {
  next += 1
  return { id: `evt_${next}`, type: 'a', entity, version, status }
}

const INVOICES = 'select id, status from invoice order by id'

test('an older event is stale: nothing is written, the job is processed, and that is counted and shown', async () => {
  const { db, hooks, outcomes } = await invoices()
  await deliver(hooks, news('in_1', 10, 'paid'))
  await jobsAre(db, 'processed', 1)
  const id = await deliver(hooks, news('in_1', 9, 'open'))
  await jobsAre(db, 'processed', 2)
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['applied', 'stale'])
  expect(await db.rows(INVOICES)).toEqual([{ id: 'in_1', status: 'paid' }])
  expect(await db.rows('select reason from hookonce.job where receipt_id = $1', [id])).toEqual([
    { reason: 'stale: in_1 is at 10, this event at 9' },
  ])
  const text = await until('both are counted', async () => {
    const metrics = await hooks.metrics()
    return metrics.includes('hookonce_processed_total{source="test",subscriber="*"} 2') ? metrics : undefined
  })
  expect(text).toContain('hookonce_stale_total{source="test",subscriber="*"} 1')
  const env = { DATABASE_URL: db.url }
  expect((await cli(['events'], env)).stdout).toMatch(/ stale /)
  expect((await cli(['show', id], env)).stdout).toContain('stale: in_1 is at 10')
})

test('the write and the version are one commit: a failure leaves neither, and the retry applies both', async () => {
  const { db, hooks } = await invoices()
  await db.rows(`alter table invoice add check (status <> 'broken')`)
  await deliver(hooks, news('in_1', 1, 'open'))
  await jobsAre(db, 'processed', 1)
  await deliver(hooks, news('in_1', 2, 'broken'))
  await jobsAre(db, 'failed', 1)
  expect(await db.rows('select version from hookonce.entity')).toEqual([{ version: '1' }])
})

test.each([
  { tie: 'apply', status: 'second', outcome: 'applied' },
  { tie: 'skip', status: 'first', outcome: 'stale' },
  { tie: 'refetch', status: 'as fetched', outcome: 'applied' },
] as const)('a tie goes to its policy: $tie', async ({ tie, status, outcome }) => {
  const { db, hooks, outcomes } = await invoices(() => ({ tie, refetch: () => 'as fetched' }))
  await deliver(hooks, news('in_1', 1, 'first'))
  await jobsAre(db, 'processed', 1)
  await deliver(hooks, news('in_1', 1, 'second'))
  await jobsAre(db, 'processed', 2)
  expect(await db.rows(INVOICES)).toEqual([{ id: 'in_1', status }])
  expect(outcomes[1]?.outcome).toBe(outcome)
})

test('a late event does not revive a deleted entity, not even with the same version', async () => {
  const { db, hooks } = await invoices()
  for (const event of [
    news('in_1', 1, 'open'),
    news('in_1', 3, 'deleted'),
    news('in_1', 2, 'late'),
    news('in_1', 3, 'tie'),
    news('in_2', 3, 'tie'),
    news('in_2', 3, 'deleted'),
  ]) {
    await deliver(hooks, event)
    await jobsAre(db, 'received', 0)
    await jobsAre(db, 'processing', 0)
  }
  expect(await db.rows(INVOICES)).toEqual([])
  await deliver(hooks, news('in_1', 4, 'made anew'))
  await jobsAre(db, 'processed', 7)
  expect(await db.rows(INVOICES)).toEqual([{ id: 'in_1', status: 'made anew' }])
})

test('without a version only fetched data counts; versions of two kinds are refused', async () => {
  const { db, hooks } = await invoices(
    ({ status }) => (status === 'fetch' ? { refetch: () => 'as fetched' } : {}),
    ({ version, status }) => (status === 'text' ? String(version) : version === 0 ? undefined : version),
  )
  await deliver(hooks, news('in_1', 0, 'fetch'))
  await jobsAre(db, 'processed', 1)
  expect(await db.rows(INVOICES)).toEqual([{ id: 'in_1', status: 'as fetched' }])
  await deliver(hooks, news('in_1', 5, 'paid'))
  await jobsAre(db, 'processed', 2)
  await deliver(hooks, news('in_1', 0, 'no version'))
  await deliver(hooks, news('in_1', 6, 'text'))
  await jobsAre(db, 'failed', 2)
  const reasons = await db.rows<{ reason: string }>(`select reason from hookonce.job where state = 'failed'`)
  expect(reasons.map(({ reason }) => reason).sort()).toEqual([
    expect.stringContaining('has a version of kind number, this one is a text'),
    expect.stringContaining('the event has no version'),
  ])
})

test('a late event does not revive an entity that was deleted without a version', async () => {
  const gone: { now: string | null } = { now: null }
  const { db, hooks, outcomes } = await invoices(
    ({ status }) => (status === 'deleted' || status === 'fetch' ? { refetch: () => gone.now as string } : {}),
    ({ version }) => (version === 0 ? undefined : version),
  )
  const told: News[] = [
    news('in_1', 0, 'deleted'),
    news('in_1', 3, 'late'),
    // The known version does not limit the deletion, which came after a newer version.
    news('in_2', 5, 'open'),
    news('in_2', 0, 'deleted'),
    news('in_2', 6, 'late'),
  ]
  for (const [index, event] of told.entries()) {
    await deliver(hooks, event)
    await jobsAre(db, 'processed', index + 1)
  }
  expect(await db.rows(INVOICES)).toEqual([])
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['applied', 'stale', 'applied', 'applied', 'stale'])
  expect(outcomes[1]).toMatchObject({
    reason: 'stale: in_1 is at deleted, without a version, this event at 3',
  })
  // The source has the entity again, and returns it.
  gone.now = 'made anew'
  await deliver(hooks, news('in_1', 7, 'fetch'))
  await deliver(hooks, news('in_2', 0, 'fetch'))
  await jobsAre(db, 'processed', 7)
  await deliver(hooks, news('in_1', 8, 'paid'))
  await deliver(hooks, news('in_2', 9, 'paid'))
  await jobsAre(db, 'processed', 9)
  expect(await db.rows(INVOICES)).toEqual([
    { id: 'in_1', status: 'paid' },
    { id: 'in_2', status: 'paid' },
  ])
})

test('any order and any number of deliveries lead to the same state', async () => {
  const truth = new Map<string, string>()
  const { db, hooks } = await invoices(({ entity }) => ({
    tie: 'refetch',
    refetch: () => truth.get(entity) ?? '',
  }))
  const status = fc.constantFrom('open', 'paid', 'void', 'deleted')
  const change = fc.record({ version: fc.integer({ min: 1, max: 6 }), status })
  const changes = fc.uniqueArray(change, { minLength: 1, maxLength: 5, selector: ({ version }) => version })
  // Each change is announced by two events, and the first event is delivered twice.
  const orders = changes.chain((set) => fc.tuple(fc.constant(set), shuffled([...set, ...set, ...set])))
  let run = 0
  await fc.assert(
    fc.asyncProperty(orders, async ([set, order]) => {
      run += 1
      const entity = `in_${run}`
      const last = set.reduce((a, b) => (b.version > a.version ? b : a))
      truth.set(entity, last.status)
      const told = new Map(set.map((change) => [change, 0]))
      await Promise.all(
        order.map((change) => {
          const times = told.get(change) ?? 0
          told.set(change, times + 1)
          const id = `${entity}_${change.version}_${times === 2 ? 0 : times}`
          return deliver(hooks, { ...news(entity, change.version, change.status), id })
        }),
      )
      await jobsAre(db, 'received', 0)
      await jobsAre(db, 'processing', 0)
      const rows = await db.rows('select status from invoice where id = $1', [entity])
      expect(rows).toEqual(last.status === 'deleted' ? [] : [{ status: last.status }])
    }),
    { numRuns: 15 },
  )
  expect(await db.number(`select count(*) from hookonce.job where state <> 'processed'`)).toBe(0)
})

function shuffled<Item>(items: Item[]): fc.Arbitrary<Item[]> {
  return fc.shuffledSubarray(items, { minLength: items.length, maxLength: items.length })
}
