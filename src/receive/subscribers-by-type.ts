/** Providers have some hundred types. A sender that invents types must not fill the memory. */
const MAX_REMEMBERED = 1_000

/** A subscriber of a source, for the receiver. */
export interface TypeSubscriber {
  readonly id: number
  matches(type: string): boolean
}

/** The ids of the subscribers that want a type. Types repeat, so each is matched once. */
export function subscribersByType(
  subscribers: readonly TypeSubscriber[],
): (type: string) => readonly number[] {
  const remembered = new Map<string, readonly number[]>()
  return (type) => {
    const known = remembered.get(type)
    if (known) return known
    const ids = subscribers.filter(({ matches }) => matches(type)).map(({ id }) => id)
    if (remembered.size < MAX_REMEMBERED) remembered.set(type, ids)
    return ids
  }
}
