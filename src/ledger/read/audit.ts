import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/** A decision of a person, kept for good. */
export interface Decision {
  /** Who decided. */
  readonly actor: string
  readonly action: string
  readonly why: string
  readonly tenant: string
  /** An effect's key, or a receipt's id. */
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
}

const AUDIT = statement(
  'audit',
  `insert into hookonce.audit (actor, action, why, tenant, subject, detail) values ($1, $2, $3, $4, $5, $6::jsonb)`,
)

export async function audit(db: Queryable, decision: Decision): Promise<void> {
  const { actor, action, why, tenant, subject, detail } = decision
  await change(db, AUDIT, [actor, action, why, tenant, subject, JSON.stringify(detail)])
}

const DECISIONS = statement(
  'decisions',
  `select at, actor, action, why, subject, detail from hookonce.audit
   where tenant = $1 and subject = any($2::text[]) order by id`,
)

export type DecisionRow = Omit<Decision, 'tenant'> & { readonly at: Date }

/** What people decided on these effects and receipts, in order. */
export async function decisionsOn(
  db: Queryable,
  tenant: string,
  subjects: readonly string[],
): Promise<DecisionRow[]> {
  return rows(db, DECISIONS, [tenant, subjects])
}
