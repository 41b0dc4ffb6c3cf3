import type { LedgerTables } from '../ledger/ledger.ts'
import { registered } from '../ledger/read/registered.ts'
import { type Rejection, listRejections as readRejections } from '../ledger/receipts/rejections.ts'
import { tenantOf } from '../model/source-key.ts'

export type { Rejection }

export interface RejectionFilter {
  readonly source?: string | undefined
  /** Rejections of sources that only this tenant has: they are counted by the source's name. */
  readonly tenant?: string | undefined
}

/** The refused deliveries, by source and reason; latest first. */
export async function listRejections(
  ledger: LedgerTables,
  { source, tenant }: RejectionFilter = {},
): Promise<Rejection[]> {
  // One row per source and code, so there are few.
  const all = await readRejections(ledger.pool)
  const isOwn = tenant === undefined ? () => true : await sourcesOnlyOf(ledger, tenant)
  return all.filter((one) => (source ?? one.source) === one.source && isOwn(one.source))
}

/** The sources of which deliveries were refused. */
export async function rejectedSources({ pool }: LedgerTables): Promise<string[]> {
  return [...new Set((await readRejections(pool)).map(({ source }) => source))].sort()
}

async function sourcesOnlyOf(ledger: LedgerTables, tenant: string): Promise<(source: string) => boolean> {
  const known = await registered(ledger)
  return (source) => {
    const named = tenantOf(source)
    if (named !== undefined) return named === tenant
    const tenants = known.filter((one) => one.source === source).map((one) => one.tenant)
    return tenants.length > 0 && tenants.every((one) => one === tenant)
  }
}
