import type { KnownReceipt } from '../ledger/receipts/known-receipts.ts'

/**
 * Receipts that the ledger recently reported as known. Further deliveries of them are acknowledged
 * from memory, so that a storm of retries does not reach the ledger (docs/decisions/0018).
 *
 * An entry is used only while the server that reported it still answers. After a failover to a
 * standby that missed a receipt, the retry must reach the ledger, because that delivery records the
 * event again.
 */
export interface RecentDuplicates {
  /** Remembers a known receipt, with the time when the ledger was queried. */
  add(receiptId: string, known: KnownReceipt, askedAtMs: number): void
  /** The hash of the recorded body. Undefined: query the ledger. */
  bodyOf(receiptId: string): Uint8Array | undefined
  /**
   * Records that a server answered a statement which was sent at this time. An answer from another
   * server empties the memory.
   */
  answered(server: number, askedAtMs: number): void
  /** A connection was lost or a statement failed: the next answer may come from another server. */
  forget(): void
}

/**
 * As long as a provider's first, quick retries last. A receipt that was deleted by hand is recorded
 * again after this time.
 */
const MAX_SECONDS = 60
/** This many entries take a few megabytes. */
const MAX_RECEIPTS = 8_192
/**
 * Entries are not used if the server has not answered for this long. A host that loses power closes
 * no connection, so only the missing answers show it. During a storm the counts of duplicates are
 * written, and answered, once per second.
 */
const MAX_SILENCE_MS = 3_000

interface Known {
  readonly bodySha256: Uint8Array
  readonly untilMs: number
}

export function recentDuplicates(now: () => number = () => performance.now()): RecentDuplicates {
  // In insertion order, so the first entries are the oldest.
  const known = new Map<string, Known>()
  let currentServer: number | undefined
  let answeredAtMs = Number.NEGATIVE_INFINITY
  let forgottenAtMs = Number.NEGATIVE_INFINITY

  function forget(): void {
    known.clear()
    forgottenAtMs = now()
  }

  function answered(server: number, askedAtMs: number): void {
    if (server !== currentServer) known.clear()
    currentServer = server
    answeredAtMs = Math.max(answeredAtMs, askedAtMs)
  }

  return {
    add(receiptId, { bodySha256, secondsLeft, server }, askedAtMs) {
      // A report from before a lost connection may come from a server that no longer exists.
      const isOutdated = askedAtMs < forgottenAtMs
      answered(server, askedAtMs)
      if (isOutdated) return
      known.delete(receiptId)
      known.set(receiptId, {
        // A copy: the driver's buffer is a slice, and would keep eight kilobytes alive.
        bodySha256: Uint8Array.from(bodySha256),
        untilMs: askedAtMs + Math.min(secondsLeft, MAX_SECONDS) * 1_000,
      })
      if (known.size <= MAX_RECEIPTS) return
      const [oldest = ''] = known.keys()
      known.delete(oldest)
    },
    bodyOf(receiptId) {
      const atMs = now()
      if (atMs - answeredAtMs > MAX_SILENCE_MS) return undefined
      const found = known.get(receiptId)
      if (!found || found.untilMs > atMs) return found?.bodySha256
      known.delete(receiptId)
      return undefined
    },
    answered,
    forget,
  }
}
