import type { Pool } from 'pg'
import { IMPORTED } from '../../model/reconciled.ts'
import { DURABLE, WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { isDistributed, ON_NODE, together } from '../driver/shapes.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { UNFINISHED } from '../jobs/states.ts'
import { knownReceipts, type ReceiptKey } from './known-receipts.ts'

/** An event that another system has processed. */
export interface ProcessedEvent extends ReceiptKey {
  readonly eventKey: string
  readonly eventType: string
  readonly occurredAtMs: number | undefined
}

/*
 * A receipt without a body and without jobs. Durable, because the deliveries that follow an import
 * rely on it.
 */
const importing = (from: string): string => `insert into ledger.receipt
     (shard, id, tenant, source, event_key, event_type, occurred_at, secret)
   select i.shard, i.id, $1, $2, i.event_key, i.event_type, i.occurred_at, ${IMPORTED}
   from ${from}
   cross join unnest($3::smallint[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[])
     i(shard, id, event_key, event_type, occurred_at)
   on conflict (shard, id) do nothing
   returning id`

const IMPORT_RECEIPTS = statement(
  'import_receipts',
  `with ${WITH_DURABLE}
   ${importing('durable')}`,
  { only: 'plain' },
)

/* As two statements: see driver/shapes.ts. */
const BEGIN_IMPORT = statement('begin_import', `select ${DURABLE} from ${ON_NODE}`)
const IMPORT_ONLY = statement('import_receipts_only', importing('(select 1) once'))

/* Not EXISTS: for that the planner may read every job first, and hash them. */
const UNFINISHED_RECEIPTS = statement(
  'unfinished_receipts',
  `select i.id from unnest($1::smallint[], $2::uuid[]) i(shard, id)
   cross join lateral (
     select from ledger.job j where j.shard = i.shard and j.receipt_id = i.id and j.state in ${UNFINISHED} limit 1
   ) k`,
)

export interface ImportedBatch {
  readonly imported: number
  /** Events that the ledger had recorded before, by a delivery or an earlier import. */
  readonly known: number
  /** Those of them with unfinished jobs: they are about to take effect a second time. */
  readonly unfinished: readonly string[]
}

interface ImportScope {
  readonly tenant: string
  readonly source: string
}

/** Inserts a batch of events, which holds each id once. Returns the ids that were new. */
export async function insertImported(
  db: Queryable,
  { tenant, source }: ImportScope,
  batch: readonly ProcessedEvent[],
): Promise<ReadonlySet<string>> {
  // In the order of ids, as receivers insert: two inserts of the same events cannot deadlock.
  const sorted = batch.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const values = [
    tenant,
    source,
    binary.smallints(sorted.map(({ shard }) => shard)),
    binary.uuids(sorted.map(({ id }) => id)),
    binary.texts(sorted.map(({ eventKey }) => eventKey)),
    binary.texts(sorted.map(({ eventType }) => eventType)),
    binary.timestamps(sorted.map(({ occurredAtMs }) => occurredAtMs)),
  ]
  const recorded = isDistributed(db)
    ? await together(db, async (client) => {
        await rows(client, BEGIN_IMPORT)
        return rows<{ id: string }>(client, IMPORT_ONLY, values)
      })
    : await rows<{ id: string }>(db, IMPORT_RECEIPTS, values)
  return new Set(recorded.map(({ id }) => id))
}

/** Records a batch of events, which holds each id once. */
export async function importReceipts(
  pool: Pool,
  scope: ImportScope,
  batch: readonly ProcessedEvent[],
): Promise<ImportedBatch> {
  const imported = await insertImported(pool, scope, batch)
  const rest = batch.filter(({ id }) => !imported.has(id))
  // Expired receipts are deleted by this look, and imported anew.
  const known = await knownReceipts(pool, rest)
  const expired = rest.filter(({ id }) => !known.has(id))
  const again = expired.length === 0 ? NOTHING : await importReceipts(pool, scope, expired)
  const unfinished = await unfinishedOf(
    pool,
    rest.filter(({ id }) => known.has(id)),
  )
  return {
    imported: imported.size + again.imported,
    known: known.size + again.known,
    unfinished: [...unfinished, ...again.unfinished],
  }
}

const NOTHING: ImportedBatch = { imported: 0, known: 0, unfinished: [] }

async function unfinishedOf(pool: Pool, places: readonly ReceiptKey[]): Promise<string[]> {
  if (places.length === 0) return []
  const found = await rows<{ id: string }>(pool, UNFINISHED_RECEIPTS, [
    binary.smallints(places.map(({ shard }) => shard)),
    binary.uuids(places.map(({ id }) => id)),
  ])
  return found.map(({ id }) => id)
}
