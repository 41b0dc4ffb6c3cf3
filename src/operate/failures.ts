import type { LedgerTables } from '../ledger/ledger.ts'
import { type FailureGroup, failures } from '../ledger/read/jobs.ts'
import type { EventFilter } from './events.ts'
import { likePattern } from './page.ts'

export type { FailureGroup }

/** `since` and `until` are times of the failure. */
export type FailureFilter = Omit<EventFilter, 'state'>

export interface Failures {
  /** The largest groups first. */
  readonly groups: readonly FailureGroup[]
  /** False: there are older failures, which were not counted. */
  readonly isComplete: boolean
}

/** Failed jobs that are read: more would show the same errors, and take longer. */
const MAX_JOBS = 10_000
const EXAMPLES = 3

/** Groups failed jobs by source, subscriber and error, with some receipts of each group. */
export async function listFailures(
  { pool, shards }: LedgerTables,
  { type, ...filter }: FailureFilter = {},
): Promise<Failures> {
  const typeLike = type === undefined ? undefined : likePattern(type)
  const question = { ...filter, typeLike, shards, limit: MAX_JOBS, examples: EXAMPLES }
  const groups = await failures(pool, question)
  const jobs = groups.reduce((total, group) => total + group.jobs, 0)
  return { groups, isComplete: jobs < MAX_JOBS }
}
