import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/** An operator's decision. The audit keeps it forever. */
export interface AuditEntry {
  /** Who decided. */
  readonly actor: string
  readonly action: string
  readonly why: string
  readonly tenant: string
  /** An effect's key, a receipt's id, or a source and its subscriber. */
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
}

const AUDIT = statement(
  'audit',
  `insert into hookonce.audit (actor, action, why, tenant, subject, detail) values ($1, $2, $3, $4, $5, $6::jsonb)`,
)

export async function recordAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  const { actor, action, why, tenant, subject, detail } = entry
  await change(db, AUDIT, [actor, action, why, tenant, subject, JSON.stringify(detail)])
}

const AUDIT_OF = statement(
  'decisions',
  `select at, actor, action, why, subject, detail from hookonce.audit
   where tenant = $1 and subject = any($2::text[]) order by id`,
)

export type AuditRow = Omit<AuditEntry, 'tenant'> & { readonly at: Date }

/** The decisions on these subjects, oldest first. */
export async function auditOf(
  db: Queryable,
  tenant: string,
  subjects: readonly string[],
): Promise<AuditRow[]> {
  return rows(db, AUDIT_OF, [tenant, subjects])
}

const LIST_AUDIT = statement(
  'list_audit',
  `select id::text as id, at, actor, action, why, tenant, subject, detail from hookonce.audit
   where id < $1::bigint and ($2::text is null or tenant = $2::text) order by id desc limit $3::integer`,
)

export type ListedAudit = AuditEntry & { readonly id: string; readonly at: Date }

export interface AuditQuestion {
  /** The id of the entry that the page begins after; the newest entries without it. */
  readonly after?: string | undefined
  readonly tenant?: string | undefined
  readonly limit: number
}

/** The newest decisions first. */
export async function readAudit(
  db: Queryable,
  { after, tenant, limit }: AuditQuestion,
): Promise<ListedAudit[]> {
  return rows(db, LIST_AUDIT, [after ?? NEWEST, tenant ?? null, limit])
}

/** The largest bigint: every id is below it. */
const NEWEST = '9223372036854775807'
