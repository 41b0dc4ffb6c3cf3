import * as binary from '../driver/binary.ts'
import { isDistributed, ON_NODE } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { SERVER } from './known-receipts.ts'

const counting = `insert into ledger.duplicate as d
       (shard, receipt_id, count, mismatches, mismatch_sha256)
     select i.* from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::bytea[]) i
     order by 1, 2
     on conflict (shard, receipt_id) do update
     set count = d.count + excluded.count, mismatches = d.mismatches + excluded.mismatches, last_at = excluded.last_at,
       mismatch_sha256 = case when excluded.mismatches > 0 then excluded.mismatch_sha256 else d.mismatch_sha256 end`

const COUNT_DUPLICATES = statement(
  'count_duplicates',
  `with counted as (
     ${counting}
   )
   select ${SERVER} as server`,
  { only: 'plain' },
)

/* As two statements: see driver/shapes.ts. */
const COUNT_ONLY = statement('count_duplicates_only', counting)
const ASK_SERVER = statement('ask_server', `select ${SERVER} as server from ${ON_NODE}`)

/** Further deliveries of one event. */
export interface DuplicateCount {
  readonly shard: number
  readonly receiptId: string
  count: number
  mismatches: number
  /** The hash of the last body that differed; empty if none did. */
  mismatchSha256: Uint8Array
}

/** Returns the server that counted them, as in `KnownReceipt`. */
export async function countDuplicates(db: Queryable, counts: readonly DuplicateCount[]): Promise<number> {
  const values = [
    binary.smallints(counts.map((c) => c.shard)),
    binary.uuids(counts.map((c) => c.receiptId)),
    binary.integers(counts.map((c) => c.count)),
    binary.integers(counts.map((c) => c.mismatches)),
    binary.byteas(counts.map((c) => c.mismatchSha256)),
  ]
  const isApart = isDistributed(db)
  if (isApart) await change(db, COUNT_ONLY, values)
  const [row] = await rows<{ server: number }>(
    db,
    isApart ? ASK_SERVER : COUNT_DUPLICATES,
    isApart ? [] : values,
  )
  if (!row) throw new Error('the ledger did not return the server that counted the duplicates')
  return row.server
}
