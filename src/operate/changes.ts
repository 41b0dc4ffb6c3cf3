import type { LedgerTables } from '../ledger/ledger.ts'
import { isSet, type Ledgers } from '../ledger/ledger-set.ts'
import {
  type JobChange,
  jobsOfReceipts,
  ledgerClock,
  type RecordedChange,
  recordedSince,
  stoppedSince,
} from '../ledger/read/changes.ts'
import { shardOf } from '../model/receipt-id.ts'
import { tenantOf } from '../model/source-key.ts'
import { askAll } from './across.ts'
import { listRejections } from './rejections.ts'

/** A change in the ledger. */
export type Change =
  | ({ readonly type: 'recorded' } & RecordedChange)
  | ({ readonly type: 'job' } & JobChange)
  | {
      readonly type: 'rejected'
      readonly tenant: string | undefined
      readonly source: string
      readonly code: string
      readonly count: number
      readonly at: Date
    }
  /**
   * There were more changes than one read returns, or one of several ledgers went down or came
   * back: lists should be read again.
   */
  | { readonly type: 'skipped'; readonly tenant: undefined; readonly at: Date }

/** Finds the changes since its last call. */
export interface ChangeWatch {
  look(): Promise<Change[]>
}

/**
 * A commit dates its rows when it begins, and may take this long. Rows within this time are read
 * again, and known rows are omitted.
 */
const OVERLAP_MS = 5_000
/**
 * The number of rows per shard and read. If there are more, changes are skipped, and a `skipped`
 * change is returned.
 */
const PER_SHARD = 64
/** The number of unfinished events whose jobs are followed. */
const MAX_FOLLOWED = 500
/** The number of known changes: more than all rows within the overlap. */
const MAX_KNOWN = 20_000

export interface WatchOptions {
  /** The first call finds changes since this time. The default is now. */
  readonly since?: Date | undefined
}

export function watchChanges(ledgers: Ledgers, options: WatchOptions = {}): ChangeWatch {
  if (!isSet(ledgers)) return watchOne(ledgers, options)
  const watches = new Map<string, ChangeWatch>()
  let read: string | undefined
  return {
    async look() {
      const answers = await askAll(ledgers, (tables, name) => {
        const watch = watches.get(name) ?? watchOne(tables, options)
        watches.set(name, watch)
        return watch.look()
      })
      const changes = answers.flatMap(({ answer }) => answer)
      // The part of a ledger that went down or came back is missing in lists, or new in them.
      const names = answers.map(({ ledger }) => ledger).join()
      if (read !== undefined && names !== read)
        changes.push({ type: 'skipped', tenant: undefined, at: new Date() })
      read = names
      return changes.sort((a, b) => a.at.getTime() - b.at.getTime())
    },
  }
}

function watchOne(ledger: LedgerTables, { since }: WatchOptions): ChangeWatch {
  const known = new Set<string>()
  const followed = new Set<string>()
  const rejections = new Map<string, number>()
  let lookedAt: Date | undefined
  let begin: Date | undefined

  /**
   * Whether a change is new. Forgets the oldest known changes, which are older than the overlap.
   */
  function isNew(key: string): boolean {
    if (known.has(key)) return false
    known.add(key)
    const [oldest] = known
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
    return true
  }

  function follow(id: string): void {
    followed.add(id)
    const [oldest] = followed
    if (followed.size > MAX_FOLLOWED && oldest !== undefined) followed.delete(oldest)
  }

  async function look(): Promise<Change[]> {
    const now = await ledgerClock(ledger.pool)
    begin ??= since ?? now
    const from = new Date(Math.max(begin.getTime(), (lookedAt ?? begin).getTime() - OVERLAP_MS))
    lookedAt = now
    const changes: Change[] = []
    const { pool, shards } = ledger
    const recorded = await recordedSince(pool, { shards, since: from, limit: PER_SHARD })
    const fresh = recorded.filter(({ receiptId }) => isNew(receiptId))
    for (const one of fresh) {
      follow(one.receiptId)
      changes.push({ type: 'recorded', ...one })
    }
    // Only the newest rows of a shard were read. If none of them was known, older rows may be
    // missing.
    if (isAnyFull(fresh.map(({ receiptId }) => shardOf(receiptId, shards))))
      changes.unshift({ type: 'skipped', tenant: undefined, at: now })
    const jobs = [
      ...(await jobsOfReceipts(pool, shards, [...followed])),
      ...(await stoppedSince(pool, { shards, since: from, limit: PER_SHARD })),
    ]
    for (const job of jobs) {
      if (isNew(`${job.receiptId} ${job.subscriber} ${job.state} ${job.fence}`))
        changes.push({ type: 'job', ...job })
    }
    unfollowFinished(jobs)
    changes.push(...(await refused()))
    return changes
  }

  function unfollowFinished(jobs: readonly JobChange[]): void {
    const unfinished = new Set(jobs.filter(({ state }) => state !== 'processed').map((job) => job.receiptId))
    for (const { receiptId } of jobs) if (!unfinished.has(receiptId)) followed.delete(receiptId)
  }

  /** There is one row per source and reason, for any number of refused deliveries. */
  async function refused(): Promise<Change[]> {
    const isFirst = rejections.size === 0
    const found: Change[] = []
    for (const { source, code, count, lastAt: at } of await listRejections(ledger)) {
      const key = `${source} ${code}`
      const before = rejections.get(key)
      rejections.set(key, count)
      const isChanged =
        before === undefined ? !isFirst || (begin !== undefined && at >= begin) : before !== count
      if (isChanged) found.push({ type: 'rejected', tenant: tenantOf(source), source, code, count, at })
    }
    return found
  }

  return { look }
}

function isAnyFull(shards: readonly number[]): boolean {
  const counts = new Map<number, number>()
  for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  return [...counts.values()].some((count) => count >= PER_SHARD)
}
