import type { Event } from '../model/event.ts'
import type { Locator } from '../sources/places.ts'
import { textAt } from '../sources/schemes/locate.ts'

/** The order key of an event: the value at a given place of its delivery. */
export function orderKeyAt(place: Locator): (event: Event) => string {
  const read = textAt(place)
  return (event) => {
    const { headers, body, receivedAt } = event
    const header = (name: string): string | undefined =>
      Object.hasOwn(headers, name) ? headers[name] : undefined
    const delivery = { method: 'POST', url: '/', header, body, receivedAtMs: receivedAt.getTime() }
    // An event without a value at this place has no order key.
    return read(delivery, event.payload) ?? event.receiptId
  }
}
