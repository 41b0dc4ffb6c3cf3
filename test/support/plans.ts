import type { Queryable } from '../../src/ledger/driver/statement.ts'
import type { TestDatabase } from './database.ts'

/** The statement that a function of the ledger sends. */
export async function textOf(ask: (db: Queryable) => Promise<unknown>): Promise<string> {
  let sent = ''
  await ask({
    query: async ({ text }) => {
      sent = text
      return { rows: [], rowCount: 0 }
    },
  })
  return sent
}

export interface Touched {
  readonly pages: number
  /** Tables that are scanned sequentially. */
  readonly readThrough: readonly string[]
}

/** Runs a statement by its generic plan, as a connection keeps it, and counts the touched pages. */
export async function pagesTouched(db: TestDatabase, text: string, values: string): Promise<Touched> {
  const client = await db.pool.connect()
  try {
    await client.query('begin; set local plan_cache_mode = force_generic_plan')
    await client.query(`prepare asked as ${text}`)
    const { rows } = await client.query(`explain (analyze, buffers, format json) execute asked ${values}`)
    const [{ Plan: plan }] = rows[0]['QUERY PLAN']
    const whole = JSON.stringify(plan).matchAll(
      /"Node Type":"Seq Scan",[^{}]*?"Relation Name":"(job|receipt)"/g,
    )
    return {
      pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      readThrough: [...whole].map(([, table = '']) => table),
    }
  } finally {
    await client.query('rollback; deallocate all')
    client.release()
  }
}
