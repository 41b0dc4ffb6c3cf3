import type { LedgerTables } from '../ledger/ledger.ts'
import { type Rejection, listRejections as readRejections } from '../ledger/receipts/rejections.ts'

export type { Rejection }

/** What was refused, by source and reason; the latest first. */
export async function listRejections(
  { pool }: LedgerTables,
  { source }: { readonly source?: string | undefined } = {},
): Promise<Rejection[]> {
  // One row per source and code, so all of them are few.
  return (await readRejections(pool)).filter((one) => source === undefined || one.source === source)
}
