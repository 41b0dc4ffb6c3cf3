/* States, ordered by how urgently they need attention. */
const WORST = ['attention', 'failed', 'retrying', 'processing', 'received', 'processed', 'stale', 'moved']

/** The state of an event, from the states of its jobs. */
export function worstOf(states: readonly string[]): string {
  return WORST.find((state) => states.includes(state)) ?? 'ignored'
}

export interface EventStates {
  readonly states: readonly string[]
  /** Whether another system had processed the event. It has no jobs then. */
  readonly imported: boolean
}

/** The state of an event for people. */
export function eventState({ states, imported }: EventStates): string {
  return imported && states.length === 0 ? 'imported' : worstOf(states)
}

/** Whether a replay of the event would run this job again. */
export function isFinished(state: string): boolean {
  return FINISHED.has(state)
}

const FINISHED: ReadonlySet<string> = new Set(['processed', 'failed', 'stale', 'moved'])
