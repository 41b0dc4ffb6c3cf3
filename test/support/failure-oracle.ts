import { expect } from 'vitest'
import type { LedgerTables } from '../../src/ledger/ledger.ts'
import { listFailures } from '../../src/operate/failures.ts'
import { readStatus } from '../../src/operate/status.ts'
import type { TestDatabase } from './database.ts'

/*
 * Compares the lists of failed jobs with a count of the jobs themselves. The fingerprint is
 * repeated here, so that a change of the ledger's functions is noticed.
 */

const ERROR = `left(regexp_replace(split_part(coalesce(j.reason, ''), E'\\n', 1),
  '^(permanent|gave up after [0-9.]+ (attempts|hours)): ', ''), 300)`
const FINGERPRINT = `left(md5(regexp_replace(${ERROR}, '(?=[\\w-]*\\d)[\\w-]{8,}', '#', 'g')), 16)`

const GROUPS = `select name as subscriber, fingerprint, sum(jobs)::int as jobs,
    jsonb_agg(jsonb_build_object('at', hour, 'jobs', jobs) order by hour) as hours
  from (
    select s.name, ${FINGERPRINT} as fingerprint, date_trunc('hour', j.finished_at, 'UTC') as hour, count(*) as jobs
    from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
    where j.state = 'failed' group by 1, 2, 3
  ) h
  group by 1, 2 order by 1, 2`

const TOTALS = `select s.name as subscriber, count(*) filter (where j.state = 'failed')::int as failed,
    count(*) filter (where j.state = 'attention')::int as attention
  from hookonce.subscriber s left join hookonce.job j on j.subscriber = s.id
  group by 1 order by 1`

const byName = (a: { subscriber: string; fingerprint?: string }, b: typeof a): number =>
  `${a.subscriber} ${a.fingerprint}` < `${b.subscriber} ${b.fingerprint}` ? -1 : 1

/** Compares `failures` and `status` with the jobs. */
export async function expectExactCounts(db: TestDatabase, when: string): Promise<void> {
  const ledger: LedgerTables = { pool: db.pool, shards: 16 }
  const { groups, isComplete } = await listFailures(ledger)
  expect(isComplete, when).toBe(true)
  const listed = groups.map(({ subscriber, fingerprint, jobs, hours }) => ({
    subscriber,
    fingerprint,
    jobs,
    hours,
  }))
  expect(listed.sort(byName), when).toEqual(await db.rows(GROUPS))
  const { jobs } = await readStatus(ledger)
  const totals = jobs.map(({ subscriber, failed, attention }) => ({ subscriber, failed, attention }))
  expect(totals.sort(byName), when).toEqual(await db.rows(TOTALS))
  for (const { receiptIds, jobs: count } of groups) {
    expect(receiptIds.length, when).toBeLessThanOrEqual(Math.min(3, count))
    const stillFailed = `select count(*) from hookonce.job where state = 'failed' and receipt_id = any($1)`
    expect(await db.number(stillFailed, [receiptIds]), when).toBeGreaterThanOrEqual(receiptIds.length)
  }
}
