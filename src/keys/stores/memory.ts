import { decideAcquire, decideExtend, decideSettle, isExpired, isLockedBy } from '../decide.ts'
import type { KeyRecord } from '../record.ts'
import type { DuePledge, KeyId, KeyStore, Pledge } from '../store.ts'

export interface MemoryKeysOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/**
 * Keys in the memory of this process: for tests, and for single-process programs that may lose
 * their keys on exit. Each new key sweeps a few expired records, so memory follows the number of
 * live records.
 */
export function memoryKeys({ now = Date.now }: MemoryKeysOptions = {}): KeyStore {
  const records = new Map<KeyId, KeyRecord>()
  const steps = new Map<KeyId, Map<string, Uint8Array>>()
  const pledges = new Map<KeyId, Pledge & { readonly dueAt: number; readonly expiresAt: number }>()
  let cursor = records.entries()

  /**
   * Continues where the last sweep stopped. From the front, it would skip every deleted slot again.
   */
  function sweep(limit: number, looks: number): number {
    let swept = 0
    for (; swept < limit && looks > 0; looks--) {
      const { done, value } = cursor.next()
      if (done) cursor = records.entries()
      else if (isExpired(value[1], now())) {
        forget(value[0])
        swept++
      }
    }
    return swept
  }

  function forget(id: KeyId): void {
    records.delete(id)
    steps.delete(id)
  }

  function write(id: KeyId, record: KeyRecord | undefined): boolean {
    if (record) records.set(id, record)
    return record !== undefined
  }

  return {
    async acquire(id, request) {
      const before = records.get(id)
      const at = now()
      const decision = decideAcquire(before, request, at)
      if (decision.record.after === 'nothing' && decision.record !== before) steps.delete(id)
      write(id, decision.record)
      sweep(SWEPT_WITH_EACH, SWEPT_WITH_EACH)
      return { ...decision, now: at }
    },
    async extend(id, fence, lock) {
      return write(id, decideExtend(records.get(id), fence, lock, now()))
    },
    async settle(id, fence, settlement) {
      const settled = write(id, decideSettle(records.get(id), fence, settlement, now()))
      if (settled && settlement.to === 'completed') steps.delete(id)
      return settled
    },
    async read(id) {
      const record = records.get(id)
      return record && !isExpired(record, now()) ? record : undefined
    },
    async sweep(limit) {
      // One full round, wherever the cursor is.
      return sweep(limit, records.size + 1)
    },
    steps: {
      async save(id, fence, name, result) {
        if (!isLockedBy(records.get(id), fence, now())) return false
        const named = steps.get(id) ?? new Map<string, Uint8Array>()
        steps.set(id, named.set(name, result))
        return true
      },
      async load(id) {
        return new Map(steps.get(id))
      },
    },
    pledges: {
      async save(id, pledge, { dueMs, ttlMs }) {
        pledges.set(id, { ...pledge, dueAt: now() + dueMs, expiresAt: now() + ttlMs })
      },
      async due(name, limit, leaseMs) {
        const found: DuePledge[] = []
        const at = now()
        for (const [id, pledge] of [...pledges].sort(([, one], [, other]) => one.dueAt - other.dueAt)) {
          if (pledge.expiresAt <= at) pledges.delete(id)
          else if (pledge.name === name && pledge.dueAt <= at && found.length < limit) {
            pledges.set(id, { ...pledge, dueAt: at + leaseMs })
            found.push({ id, bytes: pledge.bytes })
          }
        }
        return found
      },
      async drop(id, name) {
        if (pledges.get(id)?.name === name) pledges.delete(id)
      },
    },
    async close() {
      records.clear()
      steps.clear()
      pledges.clear()
    },
  }
}

/** Two per new record, so that memory shrinks after a burst. */
const SWEPT_WITH_EACH = 2
