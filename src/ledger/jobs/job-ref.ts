/**
 * Identifies one run of a job. Every write about the run carries it; with a stale fence it changes
 * nothing.
 */
export interface JobRef {
  readonly shard: number
  readonly receiptId: string
  readonly subscriber: number
  readonly fence: number
}

/** The order in which every statement locks jobs. */
export function byKey(a: JobRef, b: JobRef): number {
  if (a.shard !== b.shard) return a.shard - b.shard
  if (a.receiptId !== b.receiptId) return a.receiptId < b.receiptId ? -1 : 1
  return a.subscriber - b.subscriber
}
