import { scopedId, shardOf } from '../../src/model/receipt-id.ts'
import { type SeededLedger, seededLedger } from './seeded-ledger.ts'

/** A ledger with one job in attention for each key: its effect was called, and its outcome is unknown. */
export async function withUnknownEffects(keys: readonly string[]): Promise<SeededLedger> {
  const seeded = await seededLedger()
  const { row, job, subscriber } = seeded
  for (const [n, key] of keys.entries()) {
    const { receiptId } = await job(n, { state: 'attention', finished_at: new Date(), reason: 'unknown' })
    const run = { shard: 0, receipt_id: receiptId, subscriber, fence: 1 }
    const error = 'the reply was lost'
    await row('attempt', { ...run, number: 3, started_at: new Date(), outcome: 'attention', error })
    const id = scopedId('default', key)
    const effect_shard = shardOf(id, 16)
    await row('effect', {
      shard: effect_shard,
      id,
      epoch: 0,
      tenant: 'default',
      key,
      receipt_id: receiptId,
      subscriber,
      fence: 1,
      state: 'unknown',
      mode: 'atMostOnce',
      downstream_key: `down-${key}`,
      reason: 'no reply',
      started_at: new Date(Date.now() + n),
      ended_at: new Date(1_700_000_000_000),
      input_hash: Buffer.from('0aff', 'hex'),
    })
    await row('attention', { shard: 0, receipt_id: receiptId, subscriber, effect_shard, effect_id: id })
  }
  return seeded
}
