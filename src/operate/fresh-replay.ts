import { messageId } from '../effects/message.ts'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { type EffectStory, effectsOfReceipt, reopenEffects } from '../ledger/effects/effects.ts'
import {
  type JobEpoch,
  jobEpochs,
  PUBLISHED,
  stepNames,
  WRITTEN,
  WRITTEN_AND_PUBLISHED,
} from '../ledger/effects/steps.ts'
import { letWaitingGo } from '../ledger/jobs/attention.ts'
import { replayJobs } from '../ledger/jobs/replay.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { audit } from '../ledger/read/audit.ts'
import { messagesById, type PublishedMessage } from '../ledger/read/outbox.ts'
import type { ReceiptRow } from '../ledger/read/receipts.ts'
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
  /**
   * Effects that this job ran: called again, with new keys. Those that another job ran stay done.
   */
  readonly effects: readonly Pick<EffectStory, 'key' | 'mode' | 'state'>[]
  /**
   * Messages that it published, as far as the outbox still holds them: sent again, under new ids.
   */
  readonly messages: readonly PublishedMessage[]
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
    const steps = await stepsOf({ pool, shards }, receipt, job)
    jobs.push({
      subscriber: job.name,
      state: job.state,
      steps,
      effects: effects
        .filter((effect) => effect.subscriberId === job.subscriber && willRunAgain(effect))
        .map(({ key, mode, state }) => ({ key, mode, state })),
      messages: await messagesOf({ pool, shards }, { receiptId, job, steps }),
    })
  }
  return { receiptId, jobs }
}

async function stepsOf({ pool }: LedgerTables, { shard, id }: ReceiptRow, job: JobEpoch): Promise<string[]> {
  const { subscriber, epoch, lastStep } = job
  const names = await stepNames(pool, { job: { shard, receiptId: id, subscriber }, epoch })
  // A replay has copied the step that completed the run before it.
  return lastStep === null || names.includes(lastStep) ? names : [...names, lastStep]
}

interface Published {
  readonly receiptId: string
  readonly job: JobEpoch
  readonly steps: readonly string[]
}

/** The ids of messages are known by their places, so the outbox is asked for so many at a time. */
const PLACES = 100

async function messagesOf(
  { pool, shards }: LedgerTables,
  { receiptId, job, steps }: Published,
): Promise<PublishedMessage[]> {
  const origin = { receiptId, subscriber: job.name, epoch: job.epoch }
  const found: PublishedMessage[] = []
  for (const step of new Set(steps.map(publishingStep))) {
    for (let from = 0, count = 1; count > 0; from += PLACES) {
      const ids = Array.from({ length: PLACES }, (_, place) => messageId(origin, step, from + place))
      const held = await messagesById(pool, shards, ids)
      found.push(...held)
      count = held.length
    }
  }
  return found
}

/** The name that is part of a message's id: one for all that ctx.publish hands over. */
function publishingStep(step: string): string {
  return step === PUBLISHED || step === WRITTEN_AND_PUBLISHED ? WRITTEN : step
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
  await requireEpochs(ledger, receipt, subscribers)
  return inTransaction(ledger.pool, async (client) => {
    let jobs = 0
    let released = 0
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
        const reopened = await reopenEffects(client, { shard: at, receiptId, subscriber })
        // Jobs that wait to learn the outcome of a closed epoch would wait for good.
        for (const effect of reopened) released += await letWaitingGo(client, effect)
      }
    }
    const detail = { jobs: plan.jobs, released }
    const { by: actor, why } = fresh
    await audit(client, { actor, action: 'replay-fresh', why, tenant, subject: receiptId, detail })
    await client.query('commit')
    return { receiptId, jobs }
  })
}

/** What the ledger's column holds; each fresh replay of a job takes one more. */
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
    `the job of "${spent.name}" on receipt ${receiptId} was replayed afresh ${LAST_EPOCH} times, the most that the ledger counts: replay it without \`fresh\``,
  )
}
