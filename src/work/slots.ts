import { bell } from './bell.ts'

/**
 * Room for leased work in this process. Keys (subscribers, topics) share the slots of their group
 * (a subscriber, a publisher): a group that hangs takes nothing from the others.
 */
export interface Slots<Key> {
  readonly total: number
  readonly free: number
  readonly areAllFree: boolean
  /** Resolves when a quarter of the slots is free, or after this time. */
  roomy(ms: number): Promise<void>
  /** Takes one slot. False: there is no room. */
  take(key: Key): boolean
  /** Takes as many free slots as there are for these keys, but no more than `most` in all. */
  share(keys: readonly Key[], most: number): Shares<Key>
  giveBack(key: Key, count: number): void
}

/** How many slots were taken for each key. */
export type Shares<Key> = ReadonlyMap<Key, number>

export interface SlotsOptions<Key, Group> {
  readonly total: number
  /** Undefined: this process has no room for such work. */
  readonly groupOf: (key: Key) => Group | undefined
  readonly limitOf: (group: Group) => number
}

export function slotsOf<Key, Group>({ total, groupOf, limitOf }: SlotsOptions<Key, Group>): Slots<Key> {
  const taken = new Map<Group, number>()
  const room = bell()
  let free = total

  function roomFor(group: Group): number {
    return Math.min(free, limitOf(group) - (taken.get(group) ?? 0))
  }

  function isRoomy(): boolean {
    return free * 4 >= total
  }

  function take(group: Group, count: number): void {
    free -= count
    taken.set(group, (taken.get(group) ?? 0) + count)
  }

  return {
    total,
    get free() {
      return free
    },
    get areAllFree() {
      return free === total
    },
    async roomy(ms) {
      if (isRoomy()) return
      room.reset()
      await room.wait(ms)
    },
    take(key) {
      const group = groupOf(key)
      if (group === undefined || roomFor(group) <= 0) return false
      take(group, 1)
      return true
    },
    share(keys, most) {
      let left = most
      const shares = new Map<Key, number>()
      for (const key of keys) {
        const group = groupOf(key)
        if (group === undefined) continue
        const share = Math.min(roomFor(group), left)
        if (share <= 0) continue
        shares.set(key, share)
        take(group, share)
        left -= share
      }
      return shares
    },
    giveBack(key, count) {
      const group = groupOf(key)
      if (group === undefined) return
      take(group, -count)
      if (isRoomy()) room.ring()
    },
  }
}

export interface ClaimForShares<Key, Claimed> {
  readonly claim: () => Promise<Claimed[]>
  readonly keyOf: (claimed: Claimed) => Key
}

/** Claims for slots that were taken, and gives back the slots that no claimed work uses. */
export async function claimForShares<Key, Claimed>(
  slots: Slots<Key>,
  shares: Shares<Key>,
  { claim, keyOf }: ClaimForShares<Key, Claimed>,
): Promise<Claimed[]> {
  let claimed: Claimed[] = []
  try {
    claimed = await claim()
    return claimed
  } finally {
    for (const [key, count] of shares) {
      const used = claimed.reduce((sum, one) => sum + (keyOf(one) === key ? 1 : 0), 0)
      slots.giveBack(key, count - used)
    }
  }
}
