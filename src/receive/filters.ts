import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'

/** A subscriber that may want only some events of its types. */
export interface FilteringSubscriber {
  readonly id: number
  readonly wants?: ((event: Event) => boolean) | undefined
}

/**
 * The ids of the subscribers whose filter accepts the event. Undefined if no subscriber of the
 * source has a filter.
 */
export function wantedBy(
  subscribers: readonly FilteringSubscriber[],
): ((ids: readonly number[], event: () => Event) => readonly number[]) | undefined {
  const filters = new Map(subscribers.flatMap(({ id, wants }) => (wants ? [[id, wants] as const] : [])))
  if (filters.size === 0) return undefined
  return (ids, read) => {
    if (!ids.some((id) => filters.has(id))) return ids
    const event = read()
    return ids.filter((id) => filters.get(id)?.(event) ?? true)
  }
}

/** A filter that throws must not lose an event: the subscriber gets the event. */
export function filterReader(
  filter: (event: Event) => boolean,
  observer: Observer,
): (event: Event) => boolean {
  return (event) => {
    try {
      return Boolean(filter(event))
    } catch (error) {
      observer.trouble({ doing: 'filtering an event', eventKey: event.key, error })
      return true
    }
  }
}
