import { expect, test } from 'vitest'
import type { LedgerTables } from '../../../src/ledger/ledger.ts'
import { readEvents } from '../../../src/ledger/read/events.ts'
import { newestGroups } from '../../../src/ledger/read/failures.ts'
import type { JobState } from '../../../src/model/job-state.ts'
import { receiptIds } from '../../../src/model/receipt-id.ts'
import { type EventQuery, type EventSearch, listEvents } from '../../../src/operate/events.ts'
import { listFailures } from '../../../src/operate/failures.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { pagesTouched, textOf } from '../../support/plans.ts'
import { seedJobs } from '../../support/seed.ts'

/* The lists of events in operate/: filters, and pages by cursor. */

function ledgerOf({ pool }: TestDatabase): LedgerTables {
  return { pool, shards: 16 }
}

/** Follows the cursors from the first page to the last. */
async function allPages(db: TestDatabase, query: EventQuery): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = []
  let after: string | undefined
  for (let pages = 1; ; pages += 1) {
    const page = await listEvents(ledgerOf(db), { ...query, after })
    expect(page.events.length).toBeLessThanOrEqual(query.limit)
    ids.push(...page.events.map(({ id }) => id))
    if (page.next === undefined) return { ids, pages }
    after = page.next
  }
}

const NEWEST_FIRST = 'select id from hookonce.receipt order by received_at desc, id'

async function idsIn(db: TestDatabase, text = NEWEST_FIRST): Promise<string[]> {
  return (await db.rows<{ id: string }>(text)).map(({ id }) => id)
}

test.each([1, 7, 200, 201])('pages of %d list every event once, newest first', async (limit) => {
  const db = await freshDatabase()
  await seedJobs(db, 120)
  // A group commit records many receipts at the same time.
  await seedJobs(db, 80, { shard: 3 })
  await db.rows(`update hookonce.receipt set received_at = now() - interval '1 hour' where shard = 3`)
  const { ids, pages } = await allPages(db, { limit })
  expect(ids).toEqual(await idsIn(db))
  expect(pages).toBe(Math.ceil(200 / limit))
})

test('an event that arrives between two pages moves no other event', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 20)
  const before = await idsIn(db)
  const first = await listEvents(ledgerOf(db), { limit: 8 })
  await seedJobs(db, 5)
  await db.rows(
    `update hookonce.receipt set received_at = now() + interval '1 minute' where not id = any($1)`,
    [before],
  )
  const second = await listEvents(ledgerOf(db), { limit: 100, after: first.next })
  expect([...first.events, ...second.events].map(({ id }) => id)).toEqual(before)
  // The cursor of an event is the same position.
  const again = await listEvents(ledgerOf(db), { limit: 100, after: first.events.at(-1)?.cursor })
  expect(again).toEqual(second)
})

test('each filter leaves the events that match it', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5, { source: 'shop', subscriber: 'mail' })
  await seedJobs(db, 4, { source: 'shop', subscriber: 'books', state: 'failed' })
  await seedJobs(db, 3, { source: 'bank', subscriber: 'books', state: 'processed', ageDays: 2 })
  await db.rows(`update hookonce.receipt set event_type = 'invoice.50%_paid' where source = 'bank'`)
  await db.rows(`update hookonce.receipt set event_type = 'invoice.500_paid' where source = 'shop'
    and exists (select from hookonce.job where receipt_id = id and state = 'failed')`)
  await db.rows(`insert into hookonce.job (shard, receipt_id, subscriber, state)
    select r.shard, r.id, s.id, 'received' from hookonce.receipt r, hookonce.subscriber s
    where r.source = 'bank' and s.name = 'mail'`)
  const dayAgo = new Date(Date.now() - 24 * 3_600_000)
  const counts: [Omit<EventQuery, 'limit'>, number][] = [
    [{}, 12],
    [{ source: 'shop' }, 9],
    [{ source: 'nosuch' }, 0],
    [{ tenant: 'default' }, 12],
    [{ tenant: 'other' }, 0],
    [{ subscriber: 'books' }, 7],
    [{ state: 'failed' }, 4],
    [{ state: 'received' }, 8],
    // Only jobs of that subscriber count, not of another subscriber of the same event.
    [{ subscriber: 'books', state: 'received' }, 0],
    [{ subscriber: 'mail', state: 'received' }, 8],
    [{ source: 'bank', state: 'processed' }, 3],
    [{ type: 'count.seed' }, 5],
    [{ type: 'invoice.*' }, 7],
    // A % and a _ in a type are plain characters.
    [{ type: 'invoice.50%_paid' }, 3],
    [{ type: '*_paid' }, 7],
    [{ since: dayAgo }, 9],
    [{ until: dayAgo }, 3],
    [{ since: dayAgo, until: dayAgo }, 0],
  ]
  for (const [filter, count] of counts) {
    const { events } = await listEvents(ledgerOf(db), { ...filter, limit: 100 })
    expect(events.length, JSON.stringify(filter)).toBe(count)
  }
})

test('a filter that few events match ends a page early, and the next pages find the rest', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 2, { source: 'rare', ageDays: 5 })
  await seedJobs(db, 3_000, { source: 'busy', shard: 3, ageDays: 1, state: 'processed' })
  const first = await listEvents(ledgerOf(db), { source: 'rare', limit: 10 })
  expect(first.events).toEqual([])
  expect(first.next).toBeDefined()
  const { ids } = await allPages(db, { source: 'rare', limit: 10 })
  expect(ids).toEqual(
    await idsIn(db, `select id from hookonce.receipt where source = 'rare' order by received_at desc, id`),
  )
})

test('an invalid cursor and a limit out of range are refused, with the value', async () => {
  const db = await freshDatabase()
  const cursors = [
    '',
    'x',
    '2026-01-31T12:00:00.000000Z',
    "2026-01-31T12:00:00.000000Z_'; drop",
    '2026-99-99T12:00:00.000000Z_00000000-0000-0000-0000-000000000000',
  ]
  for (const after of cursors)
    await expect(listEvents(ledgerOf(db), { limit: 10, after })).rejects.toThrow(
      `"${after}" is not a cursor of this list`,
    )
  for (const limit of [0, -1, 1.5, 10_001, Number.NaN])
    await expect(listEvents(ledgerOf(db), { limit })).rejects.toThrow(
      `limit must be a number from 1 to 10000, not ${limit}`,
    )
})

const PLACE = `'infinity', '00000000-0000-0000-0000-000000000000'`

test.each([
  {
    name: 'all events',
    order: 'arrival' as const,
    values: `(16, 50, 50, ${PLACE}, null, null, null, null, '-infinity', 'infinity', null, null, null)`,
  },
  {
    name: 'events in a state',
    order: 'arrival' as const,
    values: `(16, 50, 50, ${PLACE}, null, null, null, 'received', '-infinity', 'infinity', null, null, null)`,
  },
  {
    name: 'events of a type',
    order: 'arrival' as const,
    values: `(16, 50, 50, ${PLACE}, null, null, null, null, '-infinity', 'infinity', 'x', null, null)`,
  },
  {
    name: 'events that failed',
    order: 'failure' as const,
    values: `(16, 50, 50, ${PLACE}, null, null, null, 'failed', '-infinity', 'infinity', null, null, null, null)`,
  },
])('the cost of a page of $name does not grow with history', async ({ order, values }) => {
  const question = { order, direction: 'older', shards: 16, walk: 50, limit: 50 } as const
  const text = await textOf((db) => readEvents(db, question))
  const pages: number[] = []
  for (const count of [500, 10_000]) {
    const db = await freshDatabase()
    await seedJobs(db, count, { state: 'processed', shard: 3 })
    await db.rows('analyze')
    const touched = await pagesTouched(db, text, values)
    expect(touched.readThrough).toEqual([])
    pages.push(touched.pages)
  }
  const [few = 0, many = 0] = pages
  expect(many, `${few} pages with 500 receipts, ${many} with 10,000`).toBeLessThan(2 * few + 100)
})

test.each([
  { name: 'failed', state: 'failed' as const },
  { name: 'in attention, among failed ones', state: 'attention' as const },
])('what a page of events that are $name touches does not grow with failures', async ({ state }) => {
  const question = { order: 'failure', direction: 'older', shards: 16, walk: 50, limit: 50 } as const
  const text = await textOf((db) => readEvents(db, question))
  const pages: number[] = []
  for (const count of [500, 10_000]) {
    const db = await freshDatabase()
    await seedJobs(db, count, { state: 'failed', shard: 3 })
    await db.rows(`update hookonce.job set finished_at = now() - random() * interval '1 day'`)
    await db.rows('vacuum analyze hookonce.job')
    const fields = `null, null, null, '${state}', '-infinity', 'infinity', null, null, null, null`
    const touched = await pagesTouched(db, text, `(16, 50, 50, ${PLACE}, ${fields})`)
    expect(touched.readThrough).toEqual([])
    pages.push(touched.pages)
  }
  const [few = 0, many = 0] = pages
  expect(many, `${few} pages with 500 failures, ${many} with 10,000`).toBeLessThan(2 * few + 100)
})

/** Jobs in a state. A job in `attention` has a row for the effect that it waits for. */
async function seedUnfinished(db: TestDatabase, count: number, state: JobState): Promise<void> {
  await seedJobs(db, count, { state: 'failed', shard: 5, ageDays: 5 })
  await db.rows(
    `with changed as (
       update hookonce.job set state = $1::text::hookonce.job_state where state = 'failed'
       returning shard, receipt_id, subscriber, state)
     insert into hookonce.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
     select shard, receipt_id, subscriber, 0, gen_random_uuid() from changed where state = 'attention'`,
    [state],
  )
}

test.each(['received', 'processing', 'retrying', 'attention'] as const)(
  'few events in %s are found at once, however long the history is',
  async (state) => {
    const db = await freshDatabase()
    await seedUnfinished(db, 7, state)
    const wanted = await idsIn(db)
    await seedJobs(db, 5_000, { state: 'processed', shard: 3, ageDays: 1 })
    const page = await listEvents(ledgerOf(db), { state, limit: 50 })
    expect(page.next).toBeUndefined()
    expect(page.events.map(({ id }) => id).sort()).toEqual([...wanted].sort())
    const { ids, pages } = await allPages(db, { state, limit: 3 })
    expect({ ids: [...ids].sort(), pages }).toEqual({ ids: [...wanted].sort(), pages: 3 })
    expect((await listEvents(ledgerOf(db), { state, limit: 50, source: 'nosuch' })).events).toEqual([])
    expect((await listEvents(ledgerOf(db), { state, limit: 50, type: 'nosuch' })).events).toEqual([])
  },
)

test('a backlog that is too long to read as a whole is listed page by page', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 700, { state: 'received' })
  await seedJobs(db, 50, { state: 'processed', shard: 3 })
  const { ids } = await allPages(db, { state: 'received', limit: 60 })
  const all = `select r.id from hookonce.receipt r join hookonce.job j on j.receipt_id = r.id
    where j.state = 'received' order by r.received_at desc, r.id`
  expect(ids).toEqual(await idsIn(db, all))
})

/** All pages, backwards from the end of the list. */
async function pagesBack(db: TestDatabase, query: EventQuery): Promise<string[]> {
  let { events, previous } = await listEvents(ledgerOf(db), query)
  const ids = events.map(({ id }) => id)
  while (previous !== undefined) {
    const { after: _, ...filter } = query
    const page = await listEvents(ledgerOf(db), { ...filter, before: previous })
    events = page.events
    previous = page.previous
    ids.unshift(...events.map(({ id }) => id))
  }
  return ids
}

test.each([
  { name: 'all events', filter: {} },
  { name: 'failed events', filter: { state: 'failed' } as const },
  { name: 'events in attention', filter: { state: 'attention' } as const },
])('pages of $name go back in the same order as forward', async ({ filter }) => {
  const db = await freshDatabase()
  await seedUnfinished(db, 23, filter.state ?? 'failed')
  const { ids } = await allPages(db, { ...filter, limit: 5 })
  expect(ids).toHaveLength(23)
  // Events of one statement share a time, so the last page is found by walking forward.
  let page = await listEvents(ledgerOf(db), { ...filter, limit: 5 })
  expect(page.previous).toBeUndefined()
  let last: string | undefined
  while (page.next !== undefined) {
    last = page.next
    page = await listEvents(ledgerOf(db), { ...filter, limit: 5, after: last })
  }
  expect(await pagesBack(db, { ...filter, limit: 5, after: last })).toEqual(ids)
})

test('events are found by key, by a prefix of their id, by object and by a part of any', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5)
  const [id = ''] = await idsIn(db, 'select id from hookonce.receipt')
  const key = 'evt_wanted'
  // Derived like in the receiver.
  const derived = receiptIds('default', 'test')(key)
  await db.rows(
    `update hookonce.receipt set id = $2, shard = get_byte(uuid_send($2::uuid), 0) % 16, event_key = $3, object_id = 'in_77'
     where id = $1`,
    [id, derived, key],
  )
  const ids = async (search: EventSearch): Promise<string[]> =>
    (await listEvents(ledgerOf(db), { ...search, limit: 10 })).events.map((event) => event.id)
  expect(await ids({ key })).toEqual([derived])
  expect(await ids({ key, source: 'other' })).toEqual([])
  expect(await ids({ key: 'evt_wante' })).toEqual([])
  expect(await ids({ q: key })).toEqual([derived])
  expect(await ids({ q: derived.slice(0, 9) })).toEqual([derived])
  expect(await ids({ q: 'WANTED' })).toEqual([derived])
  expect(await ids({ object: 'in_77' })).toEqual([derived])
  expect(await ids({ q: '%' })).toEqual([])
})

test('failed events are found by a part of their error and by its fingerprint', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 4, { state: 'failed' })
  await db.rows(
    `update hookonce.job set reason = case when receipt_id = (select min(receipt_id::text)::uuid from hookonce.job)
       then 'permanent: no customer cus_12345678' else 'gave up after 3 attempts: timeout' end`,
  )
  const { groups } = await listFailures(ledgerOf(db))
  expect(groups.map(({ jobs, error }) => ({ jobs, error }))).toEqual([
    { jobs: 3, error: 'timeout' },
    { jobs: 1, error: 'no customer cus_12345678' },
  ])
  expect(groups[0]?.hours.reduce((all, { jobs }) => all + jobs, 0)).toBe(3)
  for (const group of groups) {
    const found = await listEvents(ledgerOf(db), { error: group.fingerprint, limit: 10 })
    expect(found.events.map(({ id }) => id).sort()).toEqual([...group.receiptIds].sort())
  }
  expect((await listEvents(ledgerOf(db), { error: 'CUSTOMER', limit: 10 })).events).toHaveLength(1)
})

test('the cost of the failures does not grow with processed jobs', async () => {
  const text = await textOf((db) => newestGroups(db, { shards: 16, walk: 100, examples: 3, hours: 24 }))
  const pages: number[] = []
  for (const count of [500, 10_000]) {
    const db = await freshDatabase()
    await seedJobs(db, count, { state: 'processed', shard: 3 })
    await seedJobs(db, 50, { state: 'failed', shard: 3 })
    await db.rows('analyze')
    const touched = await pagesTouched(
      db,
      text,
      `(16, null, null, null, null, '-infinity', 'infinity', 100, 3, 24)`,
    )
    expect(touched.readThrough).toEqual([])
    pages.push(touched.pages)
  }
  const [few = 0, many = 0] = pages
  expect(many, `${few} pages with 500 jobs, ${many} with 10,000`).toBeLessThan(2 * few + 100)
})
