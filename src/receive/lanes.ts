import type { Event } from '../model/event.ts'
import { scopedId } from '../model/receipt-id.ts'
import type { Observer } from '../observe/observer.ts'
import type { ReceivingSource } from './receive.ts'

export type Lanes = (
  subscribers: readonly number[],
  event: () => Event,
) => ReadonlyMap<number, string> | undefined

/**
 * The lanes of an event, one for each subscriber that wants an order; undefined where no subscriber
 * does.
 */
export function lanesOf({ subscribers }: ReceivingSource): Lanes | undefined {
  const ordered = subscribers.flatMap(({ id, laneOf }) => (laneOf ? [{ id, laneOf }] : []))
  if (ordered.length === 0) return undefined
  return (wanting, read) => {
    const concerned = ordered.filter(({ id }) => wanting.includes(id))
    if (concerned.length === 0) return undefined
    const event = read()
    return new Map(concerned.map(({ id, laneOf }) => [id, laneOf(event)]))
  }
}

/**
 * The lane of an event. A function that fails must not cost the delivery, nor the order: its events
 * share one lane.
 */
export function laneReader(
  subscriber: number,
  ordered: (event: Event) => string,
  observer: Observer,
): (event: Event) => string {
  return (event) => {
    let key = ''
    try {
      key = String(ordered(event))
    } catch (error) {
      observer.trouble({ doing: 'asking for the order of an event', eventKey: event.key, error })
    }
    return scopedId('lane', String(subscriber), key)
  }
}
