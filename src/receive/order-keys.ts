import type { Event } from '../model/event.ts'
import { scopedId } from '../model/receipt-id.ts'
import type { Observer } from '../observe/observer.ts'

/** A subscriber that may want its events in order. */
export interface OrderedSubscriber {
  readonly id: number
  readonly orderKeyOf?: ((event: Event) => string) | undefined
}

/** By subscriber, for those that want an order. */
export type OrderKeys = ReadonlyMap<number, string>

/** The order keys of an event; undefined if none of the source's subscribers wants an order. */
export function orderKeysOf(
  subscribers: readonly OrderedSubscriber[],
): ((ids: readonly number[], event: () => Event) => OrderKeys | undefined) | undefined {
  const ordered = subscribers.flatMap(({ id, orderKeyOf }) => (orderKeyOf ? [{ id, orderKeyOf }] : []))
  if (ordered.length === 0) return undefined
  return (ids, read) => {
    const concerned = ordered.filter(({ id }) => ids.includes(id))
    if (concerned.length === 0) return undefined
    const event = read()
    return new Map(concerned.map(({ id, orderKeyOf }) => [id, orderKeyOf(event)]))
  }
}

/**
 * The order key of an event, as the ledger stores it. A function that throws must cost neither the
 * delivery nor the order: its events share one key.
 */
export function orderKeyReader(
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
    // The word is part of the stored hash, so it stays.
    return scopedId('lane', String(subscriber), key)
  }
}
