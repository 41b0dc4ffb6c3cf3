import type { KnownReceipt } from '../ledger/known-receipts.ts'

/**
 * Receipts that the ledger has lately said it holds. A sender that repeats itself again and again, or a storm of retries, is
 * answered from here: what it sends is recorded, and asking the ledger once more would tell nothing new.
 *
 * Only what the ledger itself said is remembered, with the body that stands: another body is a question for the ledger.
 */
export interface KnownLately {
  /** The ledger said so when it was asked at this time. */
  add(receiptId: string, known: KnownReceipt, askedAtMs: number): void
  /** The hash of the body that stands; undefined: ask the ledger. */
  bodyOf(receiptId: string): Uint8Array | undefined
}

/** As long as quick retries go on. Should a receipt be deleted by hand, its event can be recorded anew this much later. */
const MAX_SECONDS = 60
/** A few megabytes. */
const MAX_RECEIPTS = 8_192

interface Known {
  readonly bodySha256: Uint8Array
  readonly untilMs: number
}

export function knownLately(now: () => number = () => performance.now()): KnownLately {
  // In the order in which they came, so that the first are the oldest.
  const known = new Map<string, Known>()

  return {
    add(receiptId, { bodySha256, secondsLeft }, askedAtMs) {
      known.delete(receiptId)
      known.set(receiptId, {
        // A copy of its own: what the driver hands out keeps alive the eight kilobytes that it was cut from.
        bodySha256: Uint8Array.from(bodySha256),
        untilMs: askedAtMs + Math.min(secondsLeft, MAX_SECONDS) * 1_000,
      })
      if (known.size <= MAX_RECEIPTS) return
      const [oldest = ''] = known.keys()
      known.delete(oldest)
    },
    bodyOf(receiptId) {
      const found = known.get(receiptId)
      if (!found || found.untilMs > now()) return found?.bodySha256
      known.delete(receiptId)
      return undefined
    },
  }
}
