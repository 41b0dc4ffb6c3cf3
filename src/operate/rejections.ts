import type { LedgerTables } from '../ledger/ledger.ts'
import type { Ledgers } from '../ledger/ledger-set.ts'
import { registered } from '../ledger/read/registered.ts'
import { type Rejection, listRejections as readRejections } from '../ledger/receipts/rejections.ts'
import { tenantOf } from '../model/source-key.ts'
import { everywhere } from './across.ts'

export type { Rejection }

export interface RejectionFilter {
  readonly source?: string | undefined
  /**
   * Only rejections of sources that no other tenant has: rejections are counted by the source's
   * name.
   */
  readonly tenant?: string | undefined
}

async function rejectionsIn(
  ledger: LedgerTables,
  { source, tenant }: RejectionFilter = {},
): Promise<Rejection[]> {
  // One row per source and code, so there are few.
  const all = await readRejections(ledger.pool)
  const isOwn = tenant === undefined ? () => true : await sourcesOnlyOf(ledger, tenant)
  return all.filter((one) => (source ?? one.source) === one.source && isOwn(one.source))
}

/** The refused deliveries, by source and reason; latest first. */
export const listRejections = everywhere(rejectionsIn, (all) => {
  const byReason = new Map<string, Rejection>()
  for (const one of all.flat()) {
    const key = JSON.stringify([one.source, one.code])
    const before = byReason.get(key)
    const latest = before && before.lastAt > one.lastAt ? before : one
    byReason.set(key, { ...latest, count: (before?.count ?? 0) + one.count })
  }
  return [...byReason.values()].sort((a, b) => b.lastAt.getTime() - a.lastAt.getTime())
})

/** The sources of which deliveries were refused. */
export async function rejectedSources(ledgers: Ledgers): Promise<string[]> {
  return [...new Set((await listRejections(ledgers)).map(({ source }) => source))].sort()
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
