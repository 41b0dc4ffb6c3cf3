import type { LedgerTables } from '../ledger/ledger.ts'
import { type ListedAudit, readAudit, recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { checkLimit } from './page.ts'

export type { ListedAudit }

export interface AuditQuery {
  readonly tenant?: string | undefined
  readonly limit: number
  /** The id of an entry, or `next` of a page: the list continues after it. */
  readonly after?: string | undefined
  /** `previous` of a page: lists the entries before it. */
  readonly before?: string | undefined
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly ListedAudit[]
  /** The start of the next page. Undefined: there is none. */
  readonly next: string | undefined
  /** The same in the other direction. Undefined on the first page. */
  readonly previous?: string | undefined
}

/** Lists the decisions of operators: who, when, what, why and from which address. */
export async function listAudit(
  { pool }: LedgerTables,
  { tenant, limit, after, before }: AuditQuery,
): Promise<AuditPage> {
  checkLimit(limit)
  for (const id of [after, before]) requireId(id)
  // One extra row shows whether there is another page.
  const found = await readAudit(pool, { tenant, after, before, limit: limit + 1 })
  const hasMore = found.length > limit
  const entries = found.slice(0, limit)
  if (before !== undefined) {
    entries.reverse()
    const previous = hasMore ? entries[0]?.id : undefined
    return { entries, next: entries.at(-1)?.id ?? String(BigInt(before) + 1n), previous }
  }
  const previous = after === undefined ? undefined : (entries[0]?.id ?? '0')
  return { entries, next: hasMore ? entries.at(-1)?.id : undefined, previous }
}

function requireId(id: string | undefined): void {
  if (id === undefined || /^\d{1,18}$/.test(id)) return
  throw new HookonceError('CONFIG_INVALID', `"${id}" is not an id of the audit: pass \`id\` or \`next\``)
}

/** Who decides, and why. The audit records both. */
export interface DecisionReason {
  readonly by: string
  readonly why: string
  /** The address of an HTTP client. */
  readonly address?: string | undefined
}

/**
 * The data that a person viewed: the body of an event or message, or the headers and results of an
 * event.
 */
export interface Look {
  /** The id of the receipt or message. */
  readonly id: string
  readonly tenant: string
  readonly action: 'read-body' | 'read-headers'
}

export async function recordLook(
  { pool }: LedgerTables,
  { id, tenant, action }: Look,
  { by, why, address }: DecisionReason,
): Promise<void> {
  await recordAudit(pool, { actor: by, action, why, tenant, subject: id, detail: {}, address })
}

/** `decision` names the action that needs the reason: "a fresh replay". */
export function requireReason({ by, why }: DecisionReason, decision: string): void {
  if (by.trim() !== '' && why.trim() !== '') return
  throw new HookonceError('CONFIG_INVALID', `${decision} needs \`by\` and \`why\`: who decides, and why`)
}
