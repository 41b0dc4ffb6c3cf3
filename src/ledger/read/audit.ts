import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/** The tenant of a decision about the whole ledger. Tokens of one tenant cannot see it. */
export const ALL_TENANTS = '*'

/** An operator's decision. The audit keeps it forever. */
export interface AuditEntry {
  /** Who decided. */
  readonly actor: string
  readonly action: string
  readonly why: string
  /** `ALL_TENANTS`: about the whole ledger. */
  readonly tenant: string
  /** An effect's key, a receipt's id, or a source and its subscriber. */
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
  /** The address of an HTTP client. */
  readonly address?: string | undefined
}

const AUDIT = statement(
  'audit',
  `insert into ledger.audit (actor, action, why, tenant, subject, detail, address)
   values ($1, $2, $3, $4, $5, $6::jsonb, $7)`,
)

export async function recordAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  const { actor, action, why, tenant, subject, detail, address } = entry
  await change(db, AUDIT, [actor, action, why, tenant, subject, JSON.stringify(detail), address ?? null])
}

const AUDIT_OF = statement(
  'decisions',
  `select at, actor, action, why, subject, detail, address from ledger.audit
   where tenant = $1 and subject = any($2::text[]) order by id`,
)

export type AuditRow = Omit<AuditEntry, 'tenant' | 'address'> & {
  readonly at: Date
  readonly address: string | null
}

/** The decisions on these subjects, oldest first. */
export async function auditOf(
  db: Queryable,
  tenant: string,
  subjects: readonly string[],
): Promise<AuditRow[]> {
  return rows(db, AUDIT_OF, [tenant, subjects])
}

const listAudit = (beyond: string, order: string): string =>
  `select a.id::text as id, a.at, a.actor, a.action, a.why, a.tenant, a.subject, a.detail, a.address from ledger.audit a
   where a.id ${beyond} $1::bigint and ($2::text is null or a.tenant = $2::text)
   order by a.id ${order} limit $3::integer`

const LIST_AUDIT = statement('list_audit', listAudit('<', 'desc'))
const LIST_AUDIT_BACK = statement('list_audit_back', listAudit('>', 'asc'))

export type ListedAudit = Omit<AuditEntry, 'address'> & {
  readonly id: string
  readonly at: Date
  readonly address: string | null
}

export interface AuditQuestion {
  /** The id of the entry before the page. Without it, the page has the newest entries. */
  readonly after?: string | undefined
  /** Replaces `after`: the page has the newer entries next to this one. */
  readonly before?: string | undefined
  readonly tenant?: string | undefined
  readonly limit: number
}

/** The newest decisions first; with `before`, the oldest first. */
export async function readAudit(
  db: Queryable,
  { after, before, tenant, limit }: AuditQuestion,
): Promise<ListedAudit[]> {
  if (before !== undefined) return rows(db, LIST_AUDIT_BACK, [before, tenant ?? null, limit])
  return rows(db, LIST_AUDIT, [after ?? NEWEST, tenant ?? null, limit])
}

/** The largest bigint: every id is below it. */
const NEWEST = '9223372036854775807'
