import type { LedgerSet } from '../ledger/ledger-set.ts'
import { nodeOf } from '../ledger/places/citus.ts'
import { tenantsIn } from '../ledger/places/places.ts'
import { schemaVersion } from '../ledger/read/schema.ts'
import { operatorError } from './operator-error.ts'

/** One of several ledgers. */
export interface ListedLedger {
  readonly name: string
  /** The newest migration of the ledger. */
  readonly schema?: string | undefined
  /** The tenants whose sources are registered there. */
  readonly tenants: readonly string[]
  /** The node of a Citus cluster that holds it. Undefined: it is not distributed. */
  readonly node?: string | undefined
  /** The reason why the ledger cannot be read. */
  readonly error?: string | undefined
}

export function listLedgers({ members }: LedgerSet): Promise<ListedLedger[]> {
  return Promise.all(
    members.map(async ({ name, tables }) => {
      try {
        const { pool } = await tables()
        const node = await nodeOf(pool)
        return {
          name,
          schema: (await schemaVersion(pool))?.name,
          tenants: await tenantsIn(pool),
          ...(node ? { node: `${node.host}:${node.port}` } : {}),
        }
      } catch (error) {
        const told = operatorError(error)
        return { name, tenants: [], error: told instanceof Error ? told.message : String(told) }
      }
    }),
  )
}
