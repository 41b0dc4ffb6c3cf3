import type { RequestOf } from 'hookonce/client'
import type { ReplayFilter } from '../../parts/replay-many.tsx'
import type { RetryFilter } from '../../parts/retry-now.tsx'
import type { SearchFilter } from '../../search/tokens.ts'

export type EventsQuery = NonNullable<RequestOf<'GET', '/events'>['query']>

/** What the list asks the API for. The API itself says what is wrong with a value. */
export function queryOf(filter: SearchFilter): EventsQuery {
  return filter as EventsQuery
}

/**
 * The jobs that a replay of "all that match" takes, if the API can plan it: not for a single key,
 * an object or free text, and not for jobs that are not finished.
 */
export function replayFilterOf({ state, key, object, q, ...rest }: SearchFilter): ReplayFilter | undefined {
  if (key !== undefined || object !== undefined || q !== undefined) return undefined
  if (state === undefined || state === 'failed') return { ...rest, state: 'failed' }
  // Without a beginning it would be everything that ever was.
  return state === 'processed' && rest.since !== undefined ? { ...rest, state } : undefined
}

/** The jobs that "run now what waits" takes, if the search asks for nothing else. */
export function retryFilterOf(filter: SearchFilter): RetryFilter | undefined {
  const { state, source, subscriber, tenant, ...rest } = filter
  const isMore = Object.values(rest).some((value) => value !== undefined)
  return state !== 'retrying' || isMore ? undefined : { source, subscriber, tenant }
}
