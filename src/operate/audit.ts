import type { LedgerTables } from '../ledger/ledger.ts'
import { type ListedAudit, readAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { checkLimit } from './page.ts'

export type { ListedAudit }

export interface AuditQuery {
  readonly tenant?: string | undefined
  readonly limit: number
  /** The id of an entry, or `next` of a page: the list goes on after it. */
  readonly after?: string | undefined
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly ListedAudit[]
  /** Where the next page begins. Undefined: there is none. */
  readonly next: string | undefined
}

/** Lists what operators decided: who, when, what and why. */
export async function listAudit(
  { pool }: LedgerTables,
  { tenant, limit, after }: AuditQuery,
): Promise<AuditPage> {
  checkLimit(limit)
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw new HookonceError('CONFIG_INVALID', `"${after}" is not an id of the audit: pass \`id\` or \`next\``)
  // One more shows whether there is a next page.
  const found = await readAudit(pool, { tenant, after, limit: limit + 1 })
  const entries = found.slice(0, limit)
  return { entries, next: found.length > limit ? entries.at(-1)?.id : undefined }
}

/** Who decides, and why. The audit keeps both. */
export interface DecisionReason {
  readonly by: string
  readonly why: string
}

/** `decision` names what needs the reason: "a fresh replay". */
export function requireReason({ by, why }: DecisionReason, decision: string): void {
  if (by.trim() !== '' && why.trim() !== '') return
  throw new HookonceError('CONFIG_INVALID', `${decision} needs \`by\` and \`why\`: who decides, and why`)
}
