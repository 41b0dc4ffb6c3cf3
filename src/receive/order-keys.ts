import type { Event } from '../model/event.ts'
import { scopedId } from '../model/receipt-id.ts'
import type { Observer } from '../observe/observer.ts'

/** A subscriber that may be ordered. */
export interface OrderedSubscriber {
  readonly id: number
  readonly orderKeyOf?: ((event: Event) => string) | undefined
}

/** The order keys, by ordered subscriber. */
export type OrderKeys = ReadonlyMap<number, string>

/** The order keys of an event. Undefined if no subscriber of the source is ordered. */
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
 * The order key of an event, as the ledger stores it. If the function throws, neither the delivery
 * nor the order may be lost, so all such events share one key.
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
      observer.trouble({
        doing: 'calling the `ordered` function of a subscriber',
        eventKey: event.key,
        error,
      })
    }
    // This text is part of the stored hash, so it must not change.
    return scopedId('lane', String(subscriber), key)
  }
}
