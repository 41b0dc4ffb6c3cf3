/** Providers have some hundred types. Invented types of a sender must not fill the memory. */
const MAX_REMEMBERED = 1_000

/** A subscriber of a source, for the receiver. */
export interface TypeSubscriber {
  readonly id: number
  matches(type: string): boolean
}

/** The ids of the subscribers of a type. Types repeat, so each type is matched once. */
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
