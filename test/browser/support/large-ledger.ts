import pg from 'pg'
import { inject } from 'vitest'

/** Rows of the ledger that all tests share. Tests must not change it. */
export async function inLargeLedger<Row>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: inject('largeLedgerUrl') })
  await client.connect()
  try {
    await client.query('set default_transaction_read_only = on')
    return (await client.query(text)).rows as Row[]
  } finally {
    await client.end()
  }
}
