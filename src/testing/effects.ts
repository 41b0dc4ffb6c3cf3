import type { Pool } from 'pg'
import { type EffectRow, readEffects } from '../ledger/testing/progress.ts'

/** The records of one effect. */
export interface EffectHistory {
  readonly key: string
  /** One record per epoch. A replay with `fresh` begins the next epoch. */
  readonly records: readonly EffectRow[]
  /** The number of calls of its work, by all processes. A crash during a call makes it two. */
  readonly calls: number
  /** The number of records with the state `done`. */
  readonly happened: number
}

export async function effectHistory(pool: Pool, key: string, calls: number): Promise<EffectHistory> {
  const records = await readEffects(pool, key)
  return { key, records, calls, happened: records.filter(({ state }) => state === 'done').length }
}
