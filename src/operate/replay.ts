import { jobEpochs } from '../ledger/effects/steps.ts'
import { addMissingJobs, type FailedJob, failedJobs, replayJobs } from '../ledger/jobs/replay.ts'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import { type RegisteredSubscriber, subscribersOf } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import { findReceipts, type ReceiptRow } from '../ledger/read/receipts.ts'
import { HookonceError } from '../model/errors.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import { type FreshPlan, planFresh, replayFresh } from './fresh-replay.ts'

/** Finds one receipt by its id or by the beginning of it. */
export async function receiptById({ pool, shards }: LedgerTables, id: string): Promise<ReceiptRow> {
  const found = await findReceipts(pool, shards, id)
  return onlyOne(found, { prefix: id, noun: 'receipt', code: 'RECEIPT_UNKNOWN' })
}

export interface ReplayedOne {
  readonly receiptId: string
  readonly jobs: number
}

/** Who replays afresh, and why: both are kept. */
export interface Fresh {
  readonly by: string
  readonly why: string
}

export interface ReplayOptions {
  readonly subscriber?: string | undefined
  /** Begin a new epoch: steps, effects and writes that are done are done again, with new keys. */
  readonly fresh?: Fresh | undefined
}

/**
 * Processes a receipt again: every finished job of it is received anew, and subscribers that came
 * after it get their job. Jobs that are still being worked on are left alone.
 */
export async function replayOne(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<ReplayedOne> {
  const receipt = await replayable(ledger, id)
  const subscribers = (await wanting(ledger, receipt, options)).map((subscriber) => subscriber.id)
  if (options.fresh) return replayFresh(ledger, { receipt, subscribers, fresh: options.fresh })
  const { shard, id: receiptId } = receipt
  const again = await replayJobs(ledger.pool, {
    shard,
    receiptIds: [receiptId],
    subscribers,
    states: ['processed', 'failed'],
  })
  const added = await addMissingJobs(ledger.pool, { shard, receiptId, subscribers })
  return { receiptId, jobs: again + added }
}

/** What `replayOne` would do: look before you leap. */
export interface ReplayPlan {
  readonly receiptId: string
  readonly eventType: string
  /** Of every subscriber that is asked for and wants the type. */
  readonly jobs: readonly PlannedJob[]
  /** Whose jobs would wait, as nobody runs them now. */
  readonly unattended: readonly UnattendedSubscriber[]
}

interface PlannedJob {
  readonly subscriber: string
  /** Null: the subscriber came after the receipt and has no job on it yet. */
  readonly state: string | null
  /** False: it is not finished, or waits for a decision. */
  readonly again: boolean
}

export async function planReplayOne(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<ReplayPlan> {
  const receipt = await replayable(ledger, id)
  const subscribers = await wanting(ledger, receipt, options)
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

/** What a fresh replay would do again: look before you leap. */
export async function planReplayFresh(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<FreshPlan> {
  const receipt = await replayable(ledger, id)
  const subscribers = (await wanting(ledger, receipt, options)).map((subscriber) => subscriber.id)
  return planFresh(ledger, receipt, subscribers)
}

async function replayable(ledger: LedgerTables, id: string): Promise<ReceiptRow> {
  const receipt = await receiptById(ledger, id)
  if (!receipt.bodyExpired && receipt.body !== null) return receipt
  throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receipt.id} is past its retention`)
}

async function wanting(
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

type PlannedFailed = FailedJob & { readonly shard: number }

/** The failed jobs that can be replayed, for `replayFailed`: look before you leap. */
export async function planReplay(
  { pool, shards }: LedgerTables,
  filter: FailedFilter,
): Promise<PlannedFailed[]> {
  const plan: PlannedFailed[] = []
  for (let shard = 0; shard < shards && plan.length < filter.limit; shard += 1) {
    const sinceMs = filter.sinceMs ?? FOREVER_MS
    const failed = await failedJobs(pool, { ...filter, shard, sinceMs, limit: filter.limit - plan.length })
    plan.push(...failed.map((job) => ({ ...job, shard })))
  }
  return plan
}

/** A hundred years: PostgreSQL has no infinite interval before version 17. */
const FOREVER_MS = 100 * 365 * 24 * 3_600_000

/** Replays failed jobs as planned, and only those: a receipt's other jobs are not touched. */
export async function replayFailed(ledger: LedgerTables, plan: readonly PlannedFailed[]): Promise<number> {
  let replayed = 0
  for (const { shard, receiptId, subscriber } of plan) {
    replayed += await replayJobs(ledger.pool, {
      shard,
      receiptIds: [receiptId],
      subscribers: [subscriber],
      states: ['failed'],
    })
  }
  return replayed
}
