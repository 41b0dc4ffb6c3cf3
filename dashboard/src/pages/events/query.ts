import type { RequestOf } from 'hookonce/client'
import type { ReplayFilter } from '../../parts/replay-many.tsx'
import type { RetryFilter } from '../../parts/retry-now.tsx'
import type { SearchFilter } from '../../search/tokens.ts'

export type EventsQuery = NonNullable<RequestOf<'GET', '/events'>['query']>

/** The query that the list sends to the API. The API reports invalid values. */
export function queryOf(filter: SearchFilter): EventsQuery {
  return filter as EventsQuery
}

/**
 * The jobs of a replay of all matching events. Undefined if the API cannot plan it: for a single
 * key, an object, free text, or jobs that are not finished.
 */
export function replayFilterOf({ state, key, object, q, ...rest }: SearchFilter): ReplayFilter | undefined {
  if (key !== undefined || object !== undefined || q !== undefined) return undefined
  if (state === undefined || state === 'failed') return { ...rest, state: 'failed' }
  // Without a start time, the replay would include the whole history.
  return state === 'processed' && rest.since !== undefined ? { ...rest, state } : undefined
}

/** The jobs of "run now", if the search has no other conditions. */
export function retryFilterOf(filter: SearchFilter): RetryFilter | undefined {
  const { state, source, subscriber, tenant, ...rest } = filter
  const isMore = Object.values(rest).some((value) => value !== undefined)
  return state !== 'retrying' || isMore ? undefined : { source, subscriber, tenant }
}
