import { change, type Queryable, rows, statement } from '../driver/statement.ts'

const COUNT_REJECTION = statement(
  'count_rejection',
  `insert into ledger.rejection as r (source, code, count, last_detail, diagnosis, header)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (source, code) do update
   set count = r.count + excluded.count, last_at = excluded.last_at,
     last_detail = case when excluded.count = 0 then r.last_detail else excluded.last_detail end,
     header = case when excluded.count = 0 then r.header else excluded.header end,
     diagnosis = case when excluded.diagnosis = '' then r.diagnosis else excluded.diagnosis end`,
)

/** Deliveries refused for one reason. */
export interface RejectionCount {
  readonly source: string
  readonly code: string
  count: number
  lastDetail: string
  /** The diagnosis of one of them; empty if none was diagnosed. */
  diagnosis: string
  /** The header that caused the last refusal; null if no header did. */
  header: string | null
}

export async function countRejection(
  db: Queryable,
  { source, code, count, lastDetail, diagnosis, header }: RejectionCount,
): Promise<void> {
  await change(db, COUNT_REJECTION, [source, code, count, lastDetail, diagnosis, header])
}

const LIST_REJECTIONS = statement(
  'list_rejections',
  `select source, code, count::float8 as count, first_at as "firstAt", last_at as "lastAt", last_detail as "lastDetail",
     diagnosis, header
   from ledger.rejection order by last_at desc`,
)

export interface Rejection {
  readonly source: string
  readonly code: string
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  readonly lastDetail: string
  readonly diagnosis: string
  /** The header that caused the last refusal. */
  readonly header: string | null
}

export async function listRejections(db: Queryable): Promise<Rejection[]> {
  return rows(db, LIST_REJECTIONS)
}
