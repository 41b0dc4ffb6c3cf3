import { bell } from './bell.ts'
import { ownRoom, type Room } from './room.ts'

/**
 * Slots for leased work in this process. Keys (subscribers, topics) share the slots of their group
 * (a limiter, a publisher), so a group that hangs takes no slot from other groups. If there are
 * fewer slots than work, the tenant with the fewest taken slots is served first, and of its keys
 * the key with the fewest.
 */
export interface Slots<Key> {
  readonly total: number
  readonly free: number
  readonly areAllFree: boolean
  /** Resolves when a quarter of the slots is free, or after this time. */
  roomy(ms: number): Promise<void>
  /** Takes one slot. False: no slot is free. */
  take(key: Key): boolean
  /**
   * Takes free slots for these keys, at most `most` in total. `rivals` are all keys with work: each
   * keeps its fair share.
   */
  share(keys: readonly Key[], most: number, rivals?: readonly Key[]): Shares<Key>
  giveBack(key: Key, count: number): void
}

/** The number of slots that were taken for each key. */
export type Shares<Key> = ReadonlyMap<Key, number>

export interface SlotsOptions<Key, Group> {
  readonly total: number
  /** Undefined: this process has no slots for this kind of work. */
  readonly groupOf: (key: Key) => Group | undefined
  readonly limitOf: (group: Group) => number
  /** The tenant whose share a key uses. Without it, all keys belong to one tenant. */
  readonly tenantOf?: (key: Key) => string
  /** All groups. Some slots are kept free for groups that use none. */
  readonly groups?: ReadonlySet<Group>
  /** The slots of the process, if other workers share them. */
  readonly room?: Room | undefined
}

/**
 * At most this share of the slots is kept free for groups that use none. If there are more groups,
 * the first of them with work get these slots.
 */
const KEPT_SHARE = 1 / 4

export function slotsOf<Key, Group>(options: SlotsOptions<Key, Group>): Slots<Key> {
  const { total, groupOf, limitOf, tenantOf = () => '' } = options
  const byGroup = counts<Group>()
  const byTenant = counts<string>()
  const byKey = counts<Key>()
  const mostKept = Math.floor(total * KEPT_SHARE)
  const roomyBell = bell()
  const room = options.room ?? ownRoom(total)
  let idleGroups = options.groups?.size ?? 0
  let used = 0

  /** Whether the group may take one more slot. */
  function hasRoom(group: Group): boolean {
    const usedByGroup = byGroup.of(group)
    if (usedByGroup >= limitOf(group)) return false
    const { free } = room
    if (free <= 0) {
      room.refused()
      return false
    }
    // The first slot of a group was kept for this group.
    return usedByGroup === 0 || free > Math.min(idleGroups, mostKept)
  }

  function isRoomy(): boolean {
    return room.free * 4 >= total
  }

  function add(key: Key, group: Group, count: number): void {
    const wasIdle = byGroup.of(group) === 0
    used += count
    room.add(count)
    byGroup.add(group, count)
    byTenant.add(tenantOf(key), count)
    byKey.add(key, count)
    const isIdle = byGroup.of(group) === 0
    if (options.groups && wasIdle !== isIdle) idleGroups += isIdle ? 1 : -1
  }

  /** The rival that gets the next slot. Undefined: no rival may take a slot. */
  function next(rivals: readonly Key[]): Key | undefined {
    let best: Key | undefined
    for (const key of rivals) {
      const group = groupOf(key)
      if (group === undefined || !hasRoom(group)) continue
      if (best === undefined || isBehind(key, best)) best = key
    }
    return best
  }

  function isBehind(key: Key, other: Key): boolean {
    const ahead = byTenant.of(tenantOf(key)) - byTenant.of(tenantOf(other))
    return ahead < 0 || (ahead === 0 && byKey.of(key) < byKey.of(other))
  }

  function give(key: Key, count: number): void {
    const group = groupOf(key)
    if (group !== undefined) add(key, group, count)
  }

  return {
    total,
    get free() {
      return room.free
    },
    get areAllFree() {
      return used === 0
    },
    async roomy(ms) {
      if (isRoomy()) return
      roomyBell.reset()
      await roomyBell.wait(ms)
    },
    take(key) {
      const group = groupOf(key)
      if (group === undefined || !hasRoom(group)) return false
      add(key, group, 1)
      return true
    },
    share(keys, most, rivals = keys) {
      const shares = new Map<Key, number>()
      const leftToOthers = new Map<Key, number>()
      const wanted = new Set(keys)
      for (let taken = 0; taken < most; ) {
        const key = next(rivals)
        if (key === undefined) break
        give(key, 1)
        const into = wanted.has(key) ? shares : leftToOthers
        into.set(key, (into.get(key) ?? 0) + 1)
        if (into === shares) taken += 1
      }
      for (const [key, count] of leftToOthers) give(key, -count)
      return shares
    },
    giveBack(key, count) {
      give(key, -count)
      if (isRoomy()) roomyBell.ring()
    },
  }
}

function counts<Name>(): { of(name: Name): number; add(name: Name, count: number): void } {
  const all = new Map<Name, number>()
  return {
    of: (name) => all.get(name) ?? 0,
    add(name, count) {
      const sum = (all.get(name) ?? 0) + count
      // Topics may have any name, so a topic without a slot is forgotten.
      if (sum === 0) all.delete(name)
      else all.set(name, sum)
    },
  }
}

export interface ClaimForShares<Key, Claimed> {
  readonly claim: () => Promise<Claimed[]>
  readonly keyOf: (claimed: Claimed) => Key
}

/** Claims work for the taken slots, and releases the slots that no claimed work uses. */
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
