import type { Pool } from 'pg'
import { inSchemaText, schemaOf } from '../driver/schema.ts'

/** Ids of one ledger: 64 ledgers and those of `also` fit into an integer. */
const RANGE = 30_000_000
/** Their ids are part of stored hashes and encrypted payloads, so a move must keep them. */
const TABLES = ['subscriber', 'data_key'] as const

/**
 * Gives each of several ledgers ids of its own, so that a tenant keeps its ids in another ledger.
 * The ledgers of `also` have the ids from 1 on. Changes nothing once an id was used.
 */
export async function separateIds(pool: Pool, number: number): Promise<void> {
  const schema = schemaOf(pool)
  for (const table of TABLES) {
    const sequence = inSchemaText(`pg_get_serial_sequence('ledger.${table}', 'id')`, schema)
    const used = await pool.query(inSchemaText(`select from ledger.${table} limit 1`, schema))
    if (used.rowCount !== 0) continue
    // Names no table: on Citus, a statement with a table runs on the node, whose sequences differ.
    await pool.query(
      `select setval(${sequence}, ${(number + 1) * RANGE}, false) where nextval(${sequence}) < ${RANGE}`,
    )
  }
}

/** The number in the name of a ledger. Undefined: it is none of the numbered ledgers. */
export function ledgerNumber(name: string): number | undefined {
  const [, digits] = /_(\d+)$/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}
