import { expect, test } from 'vitest'
import { insertReceipts } from '../../../src/ledger/jobs/accept.ts'
import type { NewJob, NewReceipt, NewWork } from '../../../src/ledger/jobs/new-work.ts'
import { idOf, type SeededLedger, seededLedger } from '../../support/seeded-ledger.ts'

/* A delivery that is alone in its commit is recorded by a statement of its own. */

const PLAIN: NewReceipt = {
  id: idOf(1),
  shard: 0,
  tenant: 'default',
  source: 'test',
  eventKey: 'evt_1',
  eventType: 'invoice.paid',
  objectId: 'in_1',
  occurredAtMs: Date.UTC(2026, 10, 19, 1, 2, 3, 456),
  secret: 2,
  headers: 'content-type: text/plain\n',
  body: Buffer.from([0, 255, 128, 10]),
  keySeconds: 60,
}

const RECEIPTS: readonly (readonly [name: string, values: Partial<NewReceipt>])[] = [
  ['with every value', {}],
  ['without object and time', { objectId: undefined, occurredAtMs: undefined }],
  ['whose texts contain NUL', { eventKey: 'a\0b', eventType: '\0', objectId: '\0', headers: 'x: \0' }],
  ['whose time has a year of five digits', { occurredAtMs: Date.UTC(12_345, 0, 1) }],
  ['whose time is before 2000', { occurredAtMs: -1 }],
  ['of fractional milliseconds', { occurredAtMs: 1_700_000_000_000.4 }],
  ['with an empty body', { body: new Uint8Array() }],
]

/** Records each work in a commit of its own, or all in one, and returns the rows without ids. */
async function recorded(ledger: SeededLedger, works: readonly NewWork[], worker?: number) {
  const { db } = ledger
  await db.rows('truncate hookonce.receipt, hookonce.job')
  const found = await insertReceipts(db.pool, works, { worker, shards: 16 })
  const receipts = await db.rows<{ row: Record<string, unknown> }>(
    `select to_jsonb(r) - 'id' - 'shard' - 'received_at' as row from hookonce.receipt r
     where id = '${idOf(1)}'`,
  )
  const jobs = await db.rows<{ row: Record<string, unknown> }>(
    `select to_jsonb(j) - 'receipt_id' - 'born_at' - 'due_at'
       || jsonb_build_object('started_at', j.started_at is not null) as row
     from hookonce.job j where receipt_id = '${idOf(1)}'`,
  )
  return { found: found.filter(({ id }) => id === idOf(1)), receipts, jobs }
}

const work = (values: Partial<NewReceipt>, jobs: readonly NewJob[] = []): NewWork => ({
  receipt: { ...PLAIN, ...values },
  jobs,
})
const neighbour = work({ id: idOf(2), eventKey: 'evt_2' })

test.each(RECEIPTS)('a receipt %s is the same alone and in a batch', async (_, values) => {
  const ledger = await seededLedger()
  const alone = await recorded(ledger, [work(values)])
  const inBatch = await recorded(ledger, [work(values), neighbour])
  expect(alone).toEqual(inBatch)
  expect(alone.receipts).toHaveLength(1)
})

test('a job is the same alone and in a batch', async () => {
  const ledger = await seededLedger()
  const { db, subscriber, row } = ledger
  await row('worker', { host: 'test', pid: 1, lease_until: new Date(Date.now() + 1e6) })
  await row('worker', { host: 'test', pid: 2, lease_until: new Date(), dead_at: new Date() })
  const [alive, dead] = (await db.rows<{ id: number }>('select id from hookonce.worker order by id')).map(
    ({ id }) => id,
  )
  await row('subscriber', {
    tenant: 'default',
    source: 'test',
    name: 'paused',
    pattern: '*',
    paused_at: new Date(),
  })
  const paused = await db.number('select max(id) from hookonce.subscriber')
  const states: unknown[] = []
  for (const worker of [undefined, alive, dead])
    for (const to of [subscriber, paused])
      for (const bornLeased of [true, false]) {
        const job = { subscriber: to, bornLeased }
        const alone = await recorded(ledger, [work({}, [job])], worker)
        expect(alone).toEqual(await recorded(ledger, [work({}, [job]), neighbour], worker))
        expect(alone.jobs).toHaveLength(1)
        states.push(alone.jobs[0]?.row.state)
      }
  // Only a job for the live worker, of a subscriber that is not paused, is born leased.
  const leased = states.flatMap((state, index) => (state === 'processing' ? [index] : []))
  expect(leased).toEqual([4])
})

test('a known receipt is an exception, and gets no second job', async () => {
  const ledger = await seededLedger()
  const { db, subscriber } = ledger
  const jobs = [{ subscriber, bornLeased: false }]
  await insertReceipts(db.pool, [work({}, jobs)], { worker: undefined, shards: 16 })
  const again = work({ body: Buffer.from('other') }, [{ subscriber: subscriber + 1, bornLeased: false }])
  expect(await insertReceipts(db.pool, [again], { worker: undefined, shards: 16 })).toEqual([
    { id: idOf(1), held: null },
  ])
  expect(await db.rows('select subscriber from hookonce.job')).toEqual([{ subscriber }])
  expect(await db.rows('select body from hookonce.receipt')).toEqual([{ body: PLAIN.body }])
})
