import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/** Waits until this many jobs are in a state. */
export function jobsAre(db: TestDatabase, state: string, count = 1): Promise<unknown> {
  return until(`${count} jobs are ${state}`, async () => {
    return (await db.number('select count(*) from hookonce.job where state::text = $1', [state])) === count
  })
}
