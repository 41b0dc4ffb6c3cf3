import type { Pool } from 'pg'
import type { NewReceipt } from '../ledger/jobs/new-work.ts'
import { countDuplicates, type DuplicateCount } from '../ledger/receipts/duplicates.ts'
import { isKeyedHash } from '../ledger/vault/seal.ts'
import { hash } from '../model/hash.ts'
import type { Observer } from '../observe/observer.ts'
import { bell } from '../work/bell.ts'

/**
 * Counts further deliveries of known events. The sender does not wait for the counter, because its
 * event is already durable. The counts of one event add up here until the next write. A crash may
 * lose the last counts, and a lost reply may write some counts twice. Nothing else is affected.
 */
export interface DuplicateTally {
  /** `otherSha256`: the hash of its body, if it differs from the recorded one. */
  add(receipt: NewReceipt, otherSha256?: Uint8Array): void
  /** Writes every count now. Resolves when all are written. */
  idle(): Promise<void>
}

/** A lone duplicate is counted at once. In a storm, each event is written once in this time. */
const PAUSE_MS = 1_000
/** With this many events the write does not wait, so that its statement stays small. */
const MAX_EVENTS = 4_096
const NO_HASH = new Uint8Array()

/**
 * `answered` gets the server that wrote a batch of counts, and the time when the statement was
 * sent.
 */
export function duplicateTally(
  pool: Pool,
  observer: Observer,
  answered: (server: number, askedAtMs: number) => void,
): DuplicateTally {
  let counts = new Map<string, DuplicateCount>()
  let writing: Promise<void> | undefined
  let isDraining = false
  let isDown = false
  const enough = bell()

  function add(more: DuplicateCount): void {
    const known = counts.get(more.receiptId)
    if (!known) return void counts.set(more.receiptId, more)
    known.count += more.count
    known.mismatches += more.mismatches
    if (more.mismatches > 0) known.mismatchSha256 = more.mismatchSha256
  }

  async function write(): Promise<void> {
    while (counts.size > 0) {
      const batch = [...counts.values()]
      counts = new Map()
      enough.reset()
      const askedAtMs = performance.now()
      try {
        answered(await countDuplicates(pool, batch), askedAtMs)
        isDown = false
      } catch (error) {
        isDown = true
        observer.trouble({ doing: `counting duplicates of ${batch.length} events`, error })
        // Duplicates are answered while the ledger is down, and counted when it is back. A stop
        // does not wait for that.
        if (!isDraining) for (const count of batch) add(count)
      }
      if (!isDraining) await enough.wait(PAUSE_MS)
    }
    writing = undefined
  }

  return {
    add({ id, shard }, otherSha256) {
      add({
        shard,
        receiptId: id,
        count: 1,
        mismatches: otherSha256 ? 1 : 0,
        mismatchSha256: otherSha256 ?? NO_HASH,
      })
      if (counts.size >= MAX_EVENTS && !isDown) enough.ring()
      writing ??= write()
    },
    async idle() {
      isDraining = true
      enough.ring()
      await writing
      isDraining = false
    },
  }
}

type HashedReceipt = Pick<NewReceipt, 'body' | 'keyedHash'>

/** The hash for the comparison of bodies. Keyed, if the payload is encrypted. */
export function bodyHashOf({ body, keyedHash }: HashedReceipt): Uint8Array {
  return keyedHash ?? sha256(body)
}

/**
 * Whether a recorded hash belongs to the same body. A keyed hash cannot be compared without its
 * key.
 */
export function isHashOf(recorded: Uint8Array, { body, keyedHash }: HashedReceipt): boolean {
  if (isKeyedHash(recorded)) return keyedHash === undefined || Buffer.compare(keyedHash, recorded) === 0
  return sha256(body).equals(recorded)
}

function sha256(body: Uint8Array): Buffer {
  return hash('sha256', body, 'buffer')
}
