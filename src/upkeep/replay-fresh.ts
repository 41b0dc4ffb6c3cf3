import { audit } from '../ledger/audit.ts'
import { type EffectStory, effectsOfReceipt, reopenEffects } from '../ledger/effects.ts'
import { inTransaction } from '../ledger/in-transaction.ts'
import type { ReceiptRow } from '../ledger/inspect.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { replayJobs } from '../ledger/replay-jobs.ts'
import { jobEpochs, stepNames } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import type { Fresh, ReplayedOne } from './replay.ts'

/** What a fresh replay of a receipt would do again. */
export interface FreshPlan {
  readonly receiptId: string
  readonly jobs: readonly FreshJob[]
}

interface FreshJob {
  readonly subscriber: string
  readonly state: string
  /** Steps, transactions and writes that were done. */
  readonly steps: readonly string[]
  /** Effects that this job ran: called again, with new keys. Those that another job ran stay done. */
  readonly effects: readonly Pick<EffectStory, 'key' | 'mode' | 'state'>[]
}

export async function planFresh(
  { pool, shards }: LedgerTables,
  receipt: ReceiptRow,
  subscribers: readonly number[],
): Promise<FreshPlan> {
  const { shard, id: receiptId } = receipt
  const effects = await effectsOfReceipt(pool, shards, receiptId)
  const jobs: FreshJob[] = []
  for (const job of await jobEpochs(pool, { shard, receiptId })) {
    if (!subscribers.includes(job.subscriber)) continue
    const steps = await stepNames(pool, {
      job: { shard, receiptId, subscriber: job.subscriber },
      epoch: job.epoch,
    })
    jobs.push({
      subscriber: job.name,
      state: job.state,
      steps: job.lastStep === null ? steps : [...steps, job.lastStep],
      effects: effects
        .filter((effect) => effect.subscriberId === job.subscriber && willRunAgain(effect))
        .map(({ key, mode, state }) => ({ key, mode, state })),
    })
  }
  return { receiptId, jobs }
}

// Failed ones run again in any replay, and those of closed epochs have been told already.
function willRunAgain({ state, reopenedAt }: EffectStory): boolean {
  return state !== 'failed' && reopenedAt === null
}

interface FreshReplay {
  readonly receipt: ReceiptRow
  readonly subscribers: readonly number[]
  readonly fresh: Fresh
}

/** Jobs, effects and the record of who asked for it in one commit. */
export async function replayFresh(ledger: LedgerTables, replay: FreshReplay): Promise<ReplayedOne> {
  const { receipt, subscribers, fresh } = replay
  if (fresh.by.trim() === '' || fresh.why.trim() === '') {
    throw new HookonceError(
      'CONFIG_INVALID',
      'a fresh replay needs `by` and `why`: who asks for it, and for what reason',
    )
  }
  const { shard, id: receiptId, tenant } = receipt
  const plan = await planFresh(ledger, receipt, subscribers)
  return inTransaction(ledger.pool, async (client) => {
    let jobs = 0
    for (const subscriber of subscribers) {
      const states = ['processed', 'failed'] as const
      const again = await replayJobs(client, {
        shard,
        receiptIds: [receiptId],
        subscribers: [subscriber],
        states,
        fresh: true,
      })
      jobs += again
      for (let at = 0; again > 0 && at < ledger.shards; at += 1) {
        await reopenEffects(client, { shard: at, receiptId, subscriber })
      }
    }
    const detail = { jobs: plan.jobs }
    const { by: actor, why } = fresh
    await audit(client, { actor, action: 'replay-fresh', why, tenant, subject: receiptId, detail })
    await client.query('commit')
    return { receiptId, jobs }
  })
}
