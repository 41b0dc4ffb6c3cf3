/**
 * The state machine of a job. ARCHITECTURE.md draws it; a test compares the two, and another one
 * compares these words with the enum `job_state` of a migrated database.
 */
export const jobStates = ['received', 'processing', 'retrying', 'processed', 'failed', 'attention'] as const

export type JobState = (typeof jobStates)[number]

/**
 * The transitions of each state. `attention` waits for a person: an effect's outcome is unknown.
 */
export const transitions: Readonly<Record<JobState, readonly JobState[]>> = {
  received: ['processing', 'failed'],
  processing: ['processed', 'retrying', 'failed', 'received', 'attention'],
  retrying: ['processing', 'failed'],
  processed: ['received'],
  failed: ['received'],
  attention: ['received', 'failed'],
}

interface StateTraits {
  /** A worker may claim the job once it is due. */
  readonly isClaimable: boolean
  /** The job has ended. Its receipt may be swept, and the next job of its order key may run. */
  readonly isFinished: boolean
  /** The job did not succeed, and only an operator can change that. */
  readonly needsOperator: boolean
}

/**
 * Properties of states that the ledger's statements use. Every new state must define all of them.
 */
const stateTraits = {
  received: { isClaimable: true, isFinished: false, needsOperator: false },
  processing: { isClaimable: false, isFinished: false, needsOperator: false },
  retrying: { isClaimable: true, isFinished: false, needsOperator: false },
  processed: { isClaimable: false, isFinished: true, needsOperator: false },
  failed: { isClaimable: false, isFinished: true, needsOperator: true },
  attention: { isClaimable: false, isFinished: false, needsOperator: true },
} as const satisfies Record<JobState, StateTraits>

type StateWith<Trait extends keyof StateTraits> = {
  [State in JobState]: (typeof stateTraits)[State][Trait] extends true ? State : never
}[JobState]

export type FinishedState = StateWith<'isFinished'>

export function isClaimable(state: string): state is StateWith<'isClaimable'> {
  return has(state, 'isClaimable')
}

export function isFinished(state: string): state is FinishedState {
  return has(state, 'isFinished')
}

export function needsOperator(state: string): state is StateWith<'needsOperator'> {
  return has(state, 'needsOperator')
}

export const finishedStates: readonly FinishedState[] = jobStates.filter(isFinished)

function has(state: string, trait: keyof StateTraits): boolean {
  return jobStates.some((one) => one === state && stateTraits[one][trait])
}
