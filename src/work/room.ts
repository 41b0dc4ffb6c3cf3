/** The free slots of a process, from the view of one worker. */
export interface Room {
  /** The number of slots that the worker may take now. */
  readonly free: number
  /** Takes slots. A negative count gives them back. */
  add(count: number): void
  /** Records that there was work, but no free slot. */
  refused(): void
  /** Registers a function, called when another worker gives slots back after this one was refused. */
  onFreed(call: () => void): void
  /** Keeps no more slots for the worker, which has ended. */
  leave(): void
}

/** The slots of a process with one worker. */
export function ownRoom(total: number): Room {
  let free = total
  return {
    get free() {
      return free
    },
    add(count) {
      free -= count
    },
    refused: () => undefined,
    onFreed: () => undefined,
    leave: () => undefined,
  }
}

export interface SharedRoom {
  readonly total: number
  /** Adds a worker. */
  join(): Room
}

/**
 * At most this share of the slots is kept free for workers that use fewer than their part of it.
 */
const KEPT_SHARE = 1 / 4
/**
 * A refused worker tries again within its poll interval. If it does not, its ledger is down, and
 * slots are no longer left to it.
 */
const WAITS_MS = 1_000

interface Member {
  used: number
  /** The time until which other workers leave slots to this worker. */
  waitsUntil: number
  freed: () => void
}

/**
 * Slots that the workers of several ledgers share. Some are always kept for a worker that has few,
 * so that a busy ledger cannot starve another. A worker with more than its equal part takes no more
 * while a worker with less was refused.
 */
export function sharedRoom(total: number, now: () => number = () => performance.now()): SharedRoom {
  const members: Member[] = []
  let free = total

  /** The number of slots that are kept for each worker. */
  function kept(): number {
    return Math.floor((total * KEPT_SHARE) / members.length)
  }

  /**
   * With fewer slots than four per worker: what is kept for all workers that have none. A ledger
   * whose server hangs must not hold every slot.
   */
  function keptTogether(): number {
    if (members.length === 1 || total === 1) return 0
    return Math.max(1, Math.floor(total * KEPT_SHARE))
  }

  function freeFor(member: Member): number {
    const part = total / members.length
    const own = kept()
    if (member.used < Math.max(1, own)) return free
    let left = own === 0 ? free - keptTogether() : free
    const at = now()
    for (const other of members) {
      if (other === member) continue
      left -= Math.max(0, own - other.used)
      if (member.used >= part && other.used < part && other.waitsUntil > at) return 0
    }
    return Math.max(0, left)
  }

  return {
    total,
    join() {
      const member: Member = { used: 0, waitsUntil: 0, freed: () => undefined }
      members.push(member)
      return {
        get free() {
          return freeFor(member)
        },
        add(count) {
          free -= count
          member.used += count
          if (count > 0) member.waitsUntil = 0
          if (count >= 0) return
          const at = now()
          for (const other of members) if (other !== member && other.waitsUntil > at) other.freed()
        },
        refused() {
          member.waitsUntil = now() + WAITS_MS
        },
        onFreed(call) {
          member.freed = call
        },
        leave() {
          const at = members.indexOf(member)
          if (at >= 0) members.splice(at, 1)
        },
      }
    },
  }
}
