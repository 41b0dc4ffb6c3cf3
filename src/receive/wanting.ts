import type { ReceivingSource } from './receive.ts'

/** Providers have some hundred types; a sender that makes them up must not fill the memory. */
const MAX_REMEMBERED = 1_000

/** Who wants a type. Types repeat, so the patterns are matched once for each. */
export function wantingOf({ subscribers }: ReceivingSource): (type: string) => readonly number[] {
  const remembered = new Map<string, readonly number[]>()
  return (type) => {
    const before = remembered.get(type)
    if (before) return before
    const wanting = subscribers.filter(({ matches }) => matches(type)).map(({ id }) => id)
    if (remembered.size < MAX_REMEMBERED) remembered.set(type, wanting)
    return wanting
  }
}
