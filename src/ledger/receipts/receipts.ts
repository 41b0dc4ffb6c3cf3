import type { Pool } from 'pg'
import { insertReceipts } from '../jobs/accept.ts'
import type { NewWork } from '../jobs/new-work.ts'
import { type KnownReceipt, knownReceipts } from './known-receipts.ts'

export type Accepted =
  /** The event is new. `held` lists the subscribers whose jobs were not born leased. */
  | { readonly outcome: 'recorded'; readonly held: readonly number[] }
  /** Already recorded. */
  | ({ readonly outcome: 'known' } & KnownReceipt)

/** Records a batch, which holds each id once. Results are in the order of the batch. */
export async function acceptReceipts(
  pool: Pool,
  batch: readonly NewWork[],
  { worker, shards }: { readonly worker: number | undefined; readonly shards: number },
): Promise<Accepted[]> {
  const exceptions = await insertReceipts(pool, batch, { worker, shards })
  if (exceptions.length === 0) return batch.map(() => RECORDED)

  const before = new Set<string>()
  const held = new Map<string, number[]>()
  for (const row of exceptions) {
    if (row.held === null) before.add(row.id)
    else held.set(row.id, [...(held.get(row.id) ?? []), row.held])
  }
  const known = await knownReceipts(
    pool,
    batch.map(({ receipt }) => receipt).filter(({ id }) => before.has(id)),
  )
  // The old receipt expired or was pruned between the two statements: record the new one now.
  const again = batch.filter(({ receipt }) => before.has(receipt.id) && !known.has(receipt.id))
  const redone = again.length === 0 ? [] : await acceptReceipts(pool, again, { worker, shards })
  const redoneById = new Map(again.map(({ receipt }, index) => [receipt.id, redone[index]]))

  return batch.map(({ receipt }) => {
    const standing = known.get(receipt.id)
    if (standing) return { outcome: 'known', ...standing }
    return redoneById.get(receipt.id) ?? { outcome: 'recorded', held: held.get(receipt.id) ?? [] }
  })
}

const RECORDED: Accepted = { outcome: 'recorded', held: [] }
