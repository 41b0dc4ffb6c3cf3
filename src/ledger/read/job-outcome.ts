/**
 * The state of a job for people, in SQL. A processed job has a reason only if its event was
 * outdated, or if an operator moved the job to another subscriber.
 */
export const JOB_OUTCOME = (job: string): string =>
  `case when ${job}.state <> 'processed' or ${job}.reason is null then ${job}.state::text
         when ${job}.reason like 'MOVED to %' then 'moved' else 'stale' end`
