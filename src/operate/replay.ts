import { jobEpochs } from '../ledger/effects/steps.ts'
import { addMissingJobs, type FailedJob, failedJobs, replayJobs } from '../ledger/jobs/replay.ts'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import { type RegisteredSubscriber, subscribersOf } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { ReceiptRow } from '../ledger/read/receipts.ts'
import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { DecisionReason } from './audit.ts'
import { type FreshPlan, planFresh, replayFresh } from './fresh-replay.ts'
import { receiptById } from './receipt.ts'

export type { FreshPlan, UnattendedSubscriber }

export interface ReplayedOne {
  readonly receiptId: string
  readonly jobs: number
}

export interface ReplayOptions {
  /** Undefined: every subscriber that wants the event. */
  readonly subscriber?: string | undefined
  /** Repeats finished steps, effects and writes too, with new keys. Needs who decided, and why. */
  readonly fresh?: DecisionReason | undefined
}

/**
 * Processes a receipt again. Every finished job is received again, and subscribers without a job on
 * it get one. Unfinished jobs are not touched.
 */
export async function replayOne(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<ReplayedOne> {
  const receipt = await replayable(ledger, id)
  const subscribers = await matchingIds(ledger, receipt, options)
  const { shard, id: receiptId } = receipt
  if (options.fresh) {
    const jobs = await replayFresh(ledger, { receipt, subscribers, reason: options.fresh })
    return { receiptId, jobs }
  }
  const again = await replayJobs(ledger.pool, {
    shard,
    receiptIds: [receiptId],
    subscribers,
    states: ['processed', 'failed'],
  })
  const added = await addMissingJobs(ledger.pool, { shard, receiptId, subscribers })
  return { receiptId, jobs: again + added }
}

/** What `replayOne` would do. */
export interface ReplayPlan {
  readonly receiptId: string
  readonly eventType: string
  /** One for each subscriber that was named and wants the event's type. */
  readonly jobs: readonly PlannedJob[]
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
}

interface PlannedJob {
  readonly subscriber: string
  /** Null: the subscriber has no job on the receipt yet. */
  readonly state: string | null
  /** Whether it would be received again. False: it is unfinished, or in `attention`. */
  readonly again: boolean
}

export async function planReplayOne(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<ReplayPlan> {
  const receipt = await replayable(ledger, id)
  const subscribers = await matchingSubscribers(ledger, receipt, options)
  const { shard, id: receiptId, eventType } = receipt
  const found = await jobEpochs(ledger.pool, { shard, receiptId })
  const planned = subscribers.map(({ id: subscriber, name }) => {
    const state = found.find((job) => job.subscriber === subscriber)?.state ?? null
    return {
      id: subscriber,
      name,
      state,
      again: state === null || state === 'processed' || state === 'failed',
    }
  })
  const again = planned.filter((job) => job.again).map((job) => job.id)
  const unattended = await unattendedSubscribers(ledger.pool, again)
  const jobs = planned.map(({ name: subscriber, state, again }) => ({ subscriber, state, again }))
  return { receiptId, eventType, jobs, unattended }
}

/** What a fresh replay would repeat. */
export async function planReplayFresh(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<FreshPlan> {
  const receipt = await replayable(ledger, id)
  return planFresh(ledger, receipt, await matchingIds(ledger, receipt, options))
}

async function replayable(ledger: LedgerTables, id: string): Promise<ReceiptRow> {
  const receipt = await receiptById(ledger, id)
  if (!receipt.bodyExpired && receipt.body !== null) return receipt
  throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receipt.id} is past its retention`)
}

async function matchingIds(
  ledger: LedgerTables,
  receipt: ReceiptRow,
  options: ReplayOptions,
): Promise<number[]> {
  return (await matchingSubscribers(ledger, receipt, options)).map(({ id }) => id)
}

/** The subscribers that want the event's type; of these, the one that was named. */
async function matchingSubscribers(
  { pool }: LedgerTables,
  receipt: ReceiptRow,
  { subscriber }: ReplayOptions,
): Promise<RegisteredSubscriber[]> {
  const all = await subscribersOf(pool, receipt.tenant, receipt.source)
  if (subscriber !== undefined && !all.some(({ name }) => name === subscriber)) {
    const known = all.map(({ name }) => name).join(', ') || 'none'
    throw new HookonceError(
      'CONFIG_INVALID',
      `no subscriber "${subscriber}" of source "${receipt.source}" is known (there are: ${known})`,
    )
  }
  return all.filter(
    ({ name, pattern }) => typeMatcher(pattern)(receipt.eventType) && (subscriber ?? name) === name,
  )
}

export interface FailedFilter {
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** How far back; everything without it. */
  readonly sinceMs?: number | undefined
  readonly limit: number
}

type PlannedFailure = FailedJob & { readonly shard: number }

/** What `replayFailed` would do. */
export interface FailedPlan {
  readonly jobs: readonly PlannedFailure[]
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
}

/** Finds the failed jobs that can be replayed. */
export async function planReplayFailed(ledger: LedgerTables, filter: FailedFilter): Promise<FailedPlan> {
  const jobs: PlannedFailure[] = []
  const sinceMs = filter.sinceMs ?? FOREVER_MS
  for (let shard = 0; shard < ledger.shards && jobs.length < filter.limit; shard += 1) {
    const limit = filter.limit - jobs.length
    const failed = await failedJobs(ledger.pool, { ...filter, shard, sinceMs, limit })
    jobs.push(...failed.map((job) => ({ ...job, shard })))
  }
  const subscribers = jobs.map(({ subscriber }) => subscriber)
  return { jobs, unattended: await unattendedSubscribers(ledger.pool, subscribers) }
}

/** A hundred years: PostgreSQL has no infinite interval before version 17. */
const FOREVER_MS = 100 * 365 * 24 * 3_600_000

/** Replays the jobs of a plan, and no other jobs of their receipts. Returns how many. */
export async function replayFailed(ledger: LedgerTables, { jobs }: FailedPlan): Promise<number> {
  let replayed = 0
  for (const { shard, receiptId, subscriber } of jobs) {
    replayed += await replayJobs(ledger.pool, {
      shard,
      receiptIds: [receiptId],
      subscribers: [subscriber],
      states: ['failed'],
    })
  }
  return replayed
}
