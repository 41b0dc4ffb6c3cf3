import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { type EffectStory, effectsOfReceipt, reopenEffects } from '../ledger/effects/effects.ts'
import { jobEpochs } from '../ledger/effects/steps.ts'
import { letWaitingGo } from '../ledger/jobs/attention.ts'
import { replayJobs } from '../ledger/jobs/replay.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import type { PublishedMessage } from '../ledger/read/outbox.ts'
import type { ReceiptRow } from '../ledger/read/receipts.ts'
import { HookonceError } from '../model/errors.ts'
import { finishedStates } from '../model/job-state.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { jobRecords } from './job-record.ts'

/* A fresh replay begins a new epoch: finished steps, effects and writes are repeated. */

/** The work that a fresh replay of a receipt would repeat. */
export interface FreshPlan {
  readonly receiptId: string
  readonly jobs: readonly FreshJob[]
}

interface FreshJob {
  readonly subscriber: string
  readonly state: string
  /** Steps, transactions and writes that are done. */
  readonly steps: readonly string[]
  /**
   * Effects that this job called: they are called again, with new keys. Effects of other jobs stay
   * done.
   */
  readonly effects: readonly Pick<EffectStory, 'key' | 'mode' | 'state'>[]
  /** Messages that the outbox still holds: they are sent again, under new ids. */
  readonly messages: readonly PublishedMessage[]
}

export async function planFresh(
  ledger: LedgerTables,
  receipt: ReceiptRow,
  subscribers: readonly number[],
): Promise<FreshPlan> {
  const effects = await effectsOfReceipt(ledger.pool, ledger.shards, receipt.id)
  const records = await jobRecords(ledger, receipt)
  return {
    receiptId: receipt.id,
    jobs: records
      .filter(({ subscriber }) => subscribers.includes(subscriber))
      .map(({ subscriber, name, state, steps, messages }) => ({
        subscriber: name,
        state,
        steps,
        effects: effects
          .filter((effect) => effect.subscriberId === subscriber && willRunAgain(effect))
          .map(({ key, mode, state }) => ({ key, mode, state })),
        messages,
      })),
  }
}

// Any replay runs failed effects again. Reopened effects belong to a closed epoch.
function willRunAgain({ state, reopenedAt }: EffectStory): boolean {
  return state !== 'failed' && reopenedAt === null
}

interface FreshReplay {
  readonly receipt: ReceiptRow
  readonly subscribers: readonly number[]
  readonly reason: DecisionReason
}

/**
 * Replays jobs, reopens their effects and records the actor, in one commit. Returns the number of
 * replayed jobs.
 */
export async function replayFresh(ledger: LedgerTables, replay: FreshReplay): Promise<number> {
  const { receipt, subscribers, reason } = replay
  requireReason(reason, 'a fresh replay')
  const { shard, id: receiptId, tenant } = receipt
  const plan = await planFresh(ledger, receipt, subscribers)
  await requireEpochs(ledger, receipt, subscribers)
  return inTransaction(ledger.pool, async (client) => {
    let jobs = 0
    let released = 0
    for (const subscriber of subscribers) {
      const again = await replayJobs(client, {
        shard,
        receiptIds: [receiptId],
        subscribers: [subscriber],
        states: finishedStates,
        fresh: true,
      })
      jobs += again
      for (let at = 0; again > 0 && at < ledger.shards; at += 1) {
        const reopened = await reopenEffects(client, { shard: at, receiptId, subscriber })
        // Otherwise jobs that wait for the outcome of the closed epoch would wait forever.
        for (const effect of reopened) released += await letWaitingGo(client, effect)
      }
    }
    const detail = { jobs: plan.jobs, released }
    const { by: actor, why, address } = reason
    const entry = { actor, why, tenant, subject: receiptId, detail, address }
    await recordAudit(client, { ...entry, action: 'replay-fresh' })
    await client.query('commit')
    return jobs
  })
}

/** The largest value of the ledger's column. Each fresh replay of a job adds one. */
const LAST_EPOCH = 2 ** 15 - 1

async function requireEpochs(
  { pool }: LedgerTables,
  { shard, id: receiptId }: ReceiptRow,
  subscribers: readonly number[],
): Promise<void> {
  const jobs = await jobEpochs(pool, { shard, receiptId })
  const spent = jobs.find((job) => subscribers.includes(job.subscriber) && job.epoch >= LAST_EPOCH)
  if (!spent) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `the job of "${spent.name}" on receipt ${receiptId} was replayed with \`fresh\` ${LAST_EPOCH} times, which is the limit; replay it without \`fresh\``,
  )
}
