/*
 * The points at which a crash may split the work of a receiver: before and after each outgoing
 * call, and before and after each commit. The recording server and the proxy in front of the
 * database report them here, and wait for the decision.
 */

export interface Boundaries {
  /** Starts a new delivery: resets the counts, and kills at the given boundary, if there is one. */
  begin(killAt?: string): void
  before(label: string): Promise<'go' | 'killed'>
  after(label: string): Promise<'go' | 'killed'>
  /** The boundaries since `begin`, in order: `before call POST /emails`. */
  readonly reached: readonly string[]
  /** Resolves when the receiver was killed at the boundary. */
  readonly killed: Promise<void>
  /** The function that kills the receiver. */
  onKill(kill: () => void): void
}

/** A limit: a receiver that works in a loop must not fill the memory. */
const MAX_REACHED = 500

export function watchBoundaries(): Boundaries {
  let kill: () => void = () => undefined
  let target: string | undefined
  let reached: string[] = []
  let counts = new Map<string, number>()
  let isDead = false
  let announce: () => void = () => undefined
  let killed = new Promise<void>(() => undefined)

  async function pass(moment: string): Promise<'go' | 'killed'> {
    // A killed process sends nothing more, but its last bytes may still arrive.
    if (isDead) return 'killed'
    const count = (counts.get(moment) ?? 0) + 1
    counts.set(moment, count)
    const name = count === 1 ? moment : `${moment} (${count})`
    if (reached.length < MAX_REACHED) reached.push(name)
    if (name !== target) return 'go'
    isDead = true
    kill()
    announce()
    return 'killed'
  }

  return {
    begin(killAt) {
      target = killAt
      reached = []
      counts = new Map()
      isDead = false
      killed = new Promise((resolve) => {
        announce = resolve
      })
    },
    before: (label) => pass(`before ${label}`),
    after: (label) => pass(`after ${label}`),
    get reached() {
      return reached
    },
    get killed() {
      return killed
    },
    onKill(action) {
      kill = action
    },
  }
}
