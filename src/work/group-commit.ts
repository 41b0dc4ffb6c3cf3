/**
 * Group commit: items that arrive while a commit is in flight share the next one. An idle group
 * commits at once. No item waits for a timer, and batches grow with the load.
 *
 * Where commits may overlap, the next one starts as soon as it carries as many items as the last.
 * Items need not wait for the answer to others, and batches do not become smaller.
 */
export interface GroupCommit<Item, Result> {
  /** Resolves after the commit that carried the item. */
  add(item: Item): Promise<Result>
  /** The number of items that wait for their commit. Items in flight are not counted. */
  readonly waiting: number
  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void>
}

export interface GroupCommitOptions<Item> {
  readonly maxItems: number
  /** How many commits may be in flight at once. Default: 1. */
  readonly maxInFlight?: number
  /** A batch stops growing beyond this many bytes, so that no parameter becomes huge. */
  readonly maxBytes?: number
  readonly bytesOf?: (item: Item) => number
}

interface Entry<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * `commit` returns one result per item, in the order of the batch. A result that is an Error
 * rejects its item alone.
 */
export function groupCommit<Item, Result>(
  commit: (batch: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  options: GroupCommitOptions<Item>,
): GroupCommit<Item, Result> {
  const { maxItems, maxInFlight = 1, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 0 } = options
  let queue: Entry<Item, Result>[] = []
  let inFlight = 0
  /** The number of items of the last started commit. */
  let lastSize = 0
  let scheduled = false
  let idleWaiters: (() => void)[] = []

  // One turn of the event loop later, so that all items of the last socket read share a commit.
  function schedule(): void {
    if (scheduled || !mayStart()) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      void flush()
    })
  }

  function mayStart(): boolean {
    if (queue.length === 0) return false
    return inFlight === 0 || (inFlight < maxInFlight && queue.length >= lastSize)
  }

  async function flush(): Promise<void> {
    if (!mayStart()) return
    const batch = take()
    inFlight += 1
    lastSize = batch.length
    const answer = await answerTo(batch)
    inFlight -= 1
    // Starts the next commit before resolving this one: the continuations keep the event loop busy
    // meanwhile.
    if (!scheduled) void flush()
    answer()
    schedule()
    if (queue.length === 0 && inFlight === 0) wakeIdle()
  }

  async function answerTo(batch: readonly Entry<Item, Result>[]): Promise<() => void> {
    try {
      const results = await commit(batch.map((entry) => entry.item))
      return () => {
        for (const [index, entry] of batch.entries()) {
          const result = results[index]
          if (result instanceof Error) entry.reject(result)
          else entry.resolve(result as Result)
        }
      }
    } catch (error) {
      return () => {
        for (const entry of batch) entry.reject(error)
      }
    }
  }

  function take(): Entry<Item, Result>[] {
    let bytes = 0
    let count = 0
    for (const entry of queue) {
      bytes += bytesOf(entry.item)
      if (count > 0 && (count >= maxItems || bytes > maxBytes)) break
      count += 1
    }
    if (count === queue.length) {
      const all = queue
      queue = []
      return all
    }
    return queue.splice(0, count)
  }

  function wakeIdle(): void {
    const waiters = idleWaiters
    idleWaiters = []
    for (const wake of waiters) wake()
  }

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject })
        schedule()
      })
    },
    get waiting() {
      return queue.length
    },
    idle() {
      if (inFlight === 0 && queue.length === 0) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
  }
}
