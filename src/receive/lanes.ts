import type { Event } from '../model/event.ts'
import type { ReceivingSource } from './receive.ts'

export type Lanes = (
  subscribers: readonly number[],
  event: () => Event,
) => ReadonlyMap<number, string> | undefined

/** The lanes of an event, one for each subscriber that wants an order; undefined where no subscriber does. */
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
