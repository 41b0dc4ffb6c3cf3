import type { LedgerTables } from '../ledger/ledger.ts'
import {
  countedGroups,
  type FailureGroup,
  type FailureGroups,
  newestGroups,
} from '../ledger/read/failures.ts'
import { everywhere } from './across.ts'
import { type EventFilter, subscriberCount } from './events.ts'
import { likePattern } from './page.ts'

export type { FailureGroup, FailureGroups as Failures }

/** `since` and `until` are times of the failure. */
export type FailureFilter = Omit<EventFilter, 'state'>

/** The number of listed groups. */
const LARGEST = 250
const LATEST = 50
/**
 * The number of failed jobs that are read with a filter on types or times. More would show the same
 * errors, and take longer.
 */
const MAX_JOBS = 2_500
/** At least this many jobs of each shard and subscriber are read. */
const LEAST_WALK = 10
const EXAMPLES = 3
/** The default period: a week. */
const HOURS = 7 * 24

async function failuresIn(
  ledger: LedgerTables,
  { type, since, until, ...filter }: FailureFilter = {},
): Promise<FailureGroups> {
  const { pool, shards } = ledger
  const question = { ...filter, shards, examples: EXAMPLES, hours: HOURS }
  if (type === undefined && since === undefined && until === undefined)
    return countedGroups(pool, { ...question, largest: LARGEST, latest: LATEST })
  const typeLike = type === undefined ? undefined : likePattern(type)
  const parts = shards * (await subscriberCount(ledger, filter))
  const walk = Math.max(LEAST_WALK, Math.ceil(MAX_JOBS / parts))
  return newestGroups(pool, { ...question, typeLike, since, until, walk })
}

/** Groups failed jobs by source, subscriber and error, with some receipts of each group. */
export const listFailures = everywhere(failuresIn, (all) => ({
  groups: all.flatMap(({ groups }) => groups).sort((a, b) => b.jobs - a.jobs),
  isComplete: all.every(({ isComplete }) => isComplete),
}))
