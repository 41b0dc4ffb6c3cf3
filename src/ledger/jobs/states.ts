import { isClaimable, isFinished, type JobState, jobStates, needsOperator } from '../../model/job-state.ts'

/*
 * Lists of job states for `state in ${LIST}`. Partial indexes repeat these lists: a statement uses
 * such an index only if its own list is not longer. A test compares the lists with the indexes of
 * a migrated database.
 */

/** A worker may claim these jobs once they are due: indexes `job_due` and `job_suspect`. */
export const CLAIMABLE = listOf(isClaimable)

/** These jobs keep their receipt and block their order key: index `job_lane_live`. */
export const UNFINISHED = listOf((state) => !isFinished(state))

/** These jobs have ended. A replay receives them again. */
export const FINISHED = listOf(isFinished)

/** These jobs wait for an operator: index `job_failed`. */
export const NEEDS_OPERATOR = listOf(needsOperator)

function listOf(isListed: (state: JobState) => boolean): string {
  const listed = jobStates.filter(isListed).map((state) => `'${state}'`)
  return `(${listed.join(', ')})`
}
