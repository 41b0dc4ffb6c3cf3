import { tenantNames } from '../operate/sources.ts'
import type { Ledgers } from './open-ledger.ts'
import { safe } from './print.ts'

/** The option of commands that list data of several tenants. */
export const tenantOption = { tenant: { type: 'string' } } as const

/** The column TENANT. Shown only if the ledger knows a tenant other than `default`. */
export interface TenantColumn {
  readonly head: readonly string[]
  cell(tenant: string): readonly string[]
}

export async function tenantColumn(ledger: Ledgers): Promise<TenantColumn> {
  return columnFor(await tenantNames(ledger))
}

export function columnFor(tenants: readonly string[]): TenantColumn {
  const isShown = tenants.some((tenant) => tenant !== 'default')
  return {
    head: isShown ? ['TENANT'] : [],
    cell: (tenant) => (isShown ? [safe(tenant)] : []),
  }
}
