import type { PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { inSchemaText, schemaOf } from '../driver/schema.ts'
import { sqlStateOf } from '../driver/sql-state.ts'
import { ALLOW_TRIGGERS, nodeOf } from './citus.ts'

/** The SQLSTATE of `refuse_moved()`. */
const MOVED = 'HK001'

/**
 * Makes the ledger refuse new receipts of every tenant that lives elsewhere or is being moved away.
 * The names are in the trigger's condition, so receipts of other tenants cost next to nothing more,
 * and nothing without a move. Waits for inserts that are in progress.
 */
export async function closeIntake(client: PoolClient): Promise<void> {
  const schema = schemaOf(client)
  const found = await client.query(
    inSchemaText('select tenant from ledger.tenant_place where left_at is not null order by tenant', schema),
  )
  const table = inSchemaText('ledger.receipt', schema)
  if ((await nodeOf(client)) !== undefined) await client.query(ALLOW_TRIGGERS)
  await client.query(`drop trigger if exists receipt_moved on ${table}`)
  if (found.rows.length === 0) return
  const names = found.rows.map(({ tenant }) => client.escapeLiteral(String(tenant))).join(', ')
  await client.query(
    `create trigger receipt_moved before insert on ${table} for each row
     when (new.tenant = any (array[${names}]::text[]))
     execute function ${inSchemaText('ledger.refuse_moved()', schema)}`,
  )
}

/** The tenant whose receipt was refused; undefined: the error is another one. */
export function refusedTenant(error: unknown): string | undefined {
  if (sqlStateOf(error) !== MOVED) return undefined
  const detail: unknown = error instanceof Error && 'detail' in error ? error.detail : undefined
  return typeof detail === 'string' ? detail : undefined
}

/** The tenant does not live in this ledger any more. */
export class TenantMoved extends HookonceError {
  constructor(tenant: string, ledger?: string) {
    super('TENANT_MOVED', `tenant "${tenant}" lives in ${ledger ?? 'another ledger'}`)
  }
}
