import { bell } from '../work/bell.ts'
import type { Subscriber } from './subscriber.ts'

/** Room for jobs in this process: so many in all, and so many of each subscriber. */
export interface Slots {
  readonly all: number
  readonly free: number
  readonly areAllFree: boolean
  /** When a quarter of them is free, which may be now, but no later than this. */
  roomy(ms: number): Promise<void>
  /** One slot. False: there is no room. */
  take(subscriber: number): boolean
  /** Shares the free slots out, and takes them; together never more than are free, and no more than `most`. */
  share(subscribers: readonly number[], most: number): Map<number, number>
  giveBack(subscriber: number, count: number): void
}

export function slotsOf(subscribers: ReadonlyMap<number, Subscriber>, concurrency: number): Slots {
  const taken = new Map<number, number>()
  const room = bell()
  let free = concurrency

  function roomFor(id: number): number {
    const subscriber = subscribers.get(id)
    return subscriber ? Math.min(free, subscriber.concurrency - (taken.get(id) ?? 0)) : 0
  }

  function isRoomy(): boolean {
    return free * 4 >= concurrency
  }

  function take(id: number, count: number): void {
    free -= count
    taken.set(id, (taken.get(id) ?? 0) + count)
  }

  return {
    all: concurrency,
    get free() {
      return free
    },
    get areAllFree() {
      return free === concurrency
    },
    async roomy(ms) {
      if (isRoomy()) return
      room.reset()
      await room.wait(ms)
    },
    take(id) {
      if (roomFor(id) <= 0) return false
      take(id, 1)
      return true
    },
    share(ids, most) {
      let left = most
      const shares = new Map<number, number>()
      for (const id of ids) {
        const share = Math.min(roomFor(id), left)
        if (share <= 0) continue
        shares.set(id, share)
        take(id, share)
        left -= share
      }
      return shares
    },
    giveBack(id, count) {
      take(id, -count)
      if (isRoomy()) room.ring()
    },
  }
}
