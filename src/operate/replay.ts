import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { jobEpochs } from '../ledger/effects/steps.ts'
import type { BulkFilter } from '../ledger/jobs/bulk-replay.ts'
import { addMissingJobs, type FailedJob, failedJobs, replayJobs } from '../ledger/jobs/replay.ts'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import { type RegisteredSubscriber, subscribersOf } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import type { ReceiptRow } from '../ledger/read/receipts.ts'
import { HookonceError } from '../model/errors.ts'
import { interestOf } from '../model/interest.ts'
import { finishedStates, isFinished } from '../model/job-state.ts'
import { whereFound } from './across.ts'
import type { DecisionReason } from './audit.ts'
import { type FreshPlan, planFresh, replayFresh } from './fresh-replay.ts'
import { overShards, type WorkWatch } from './over-shards.ts'
import { actWherePlanned, type OfLedger, planEverywhere } from './planned-jobs.ts'
import { receiptById } from './receipt.ts'
import { type ReplayFilter, storedFilter } from './replays.ts'

export type { FreshPlan, UnattendedSubscriber }

export interface ReplayedOne {
  readonly receiptId: string
  readonly jobs: number
}

export interface ReplayOptions {
  /** Undefined: every subscriber of the event's type. */
  readonly subscriber?: string | undefined
  /**
   * Also repeats finished steps, effects and writes, with new keys. Requires an actor and a reason.
   */
  readonly fresh?: DecisionReason | undefined
  /** Without `fresh`, the actor for the audit. Recorded in the commit of the replay. */
  readonly reason?: DecisionReason | undefined
}

async function replayIn(ledger: LedgerTables, id: string, options: ReplayOptions = {}): Promise<ReplayedOne> {
  const receipt = await replayable(ledger, id)
  const subscribers = await matchingIds(ledger, receipt, options)
  const { shard, id: receiptId } = receipt
  if (options.fresh) {
    const jobs = await replayFresh(ledger, { receipt, subscribers, reason: options.fresh })
    return { receiptId, jobs }
  }
  const { reason } = options
  return inTransaction(ledger.pool, async (client) => {
    const again = await replayJobs(client, {
      shard,
      receiptIds: [receiptId],
      subscribers,
      states: finishedStates,
    })
    const added = await addMissingJobs(client, { shard, receiptId, subscribers })
    const jobs = again + added
    if (reason) {
      const { by: actor, why, address } = reason
      const { tenant } = receipt
      const entry = { actor, why, tenant, subject: receiptId, detail: { jobs }, address }
      await recordAudit(client, { ...entry, action: 'replay' })
    }
    await client.query('commit')
    return { receiptId, jobs }
  })
}

/**
 * Processes a receipt again. Every finished job is received again, and subscribers without a job on
 * it get one. Unfinished jobs are not touched.
 */
export const replayOne = whereFound((ledger, [id]) => receiptById(ledger, id), replayIn)

/** The work that `replayOne` would do. */
export interface ReplayPlan {
  readonly receiptId: string
  readonly eventType: string
  /** One entry per selected subscriber of the event's type. */
  readonly jobs: readonly PlannedJob[]
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
}

interface PlannedJob {
  readonly subscriber: string
  /** Null: the subscriber has no job on the receipt yet. */
  readonly state: string | null
  /** Whether the job would be received again. False: it is unfinished, or in `attention`. */
  readonly again: boolean
}

async function planReplayIn(
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
      again: state === null || isFinished(state),
    }
  })
  const again = planned.filter((job) => job.again).map((job) => job.id)
  const unattended = await unattendedSubscribers(ledger.pool, again)
  const jobs = planned.map(({ name: subscriber, state, again }) => ({ subscriber, state, again }))
  return { receiptId, eventType, jobs, unattended }
}

export const planReplayOne = whereFound((ledger, [id]) => receiptById(ledger, id), planReplayIn)

async function planFreshIn(
  ledger: LedgerTables,
  id: string,
  options: ReplayOptions = {},
): Promise<FreshPlan> {
  const receipt = await replayable(ledger, id)
  return planFresh(ledger, receipt, await matchingIds(ledger, receipt, options))
}

/** The work that a fresh replay would repeat. */
export const planReplayFresh = whereFound((ledger, [id]) => receiptById(ledger, id), planFreshIn)

async function replayable(ledger: LedgerTables, id: string): Promise<ReceiptRow> {
  const receipt = await receiptById(ledger, id)
  // Checks without decrypting: an operator may replay events that only the workers can decrypt.
  if (receipt.isForgotten && !receipt.bodyExpired) {
    const { tenant } = receipt
    throw new HookonceError('PAYLOAD_FORGOTTEN', `the data key of tenant "${tenant}" was dropped`)
  }
  const hasPayload = receipt.body !== null || receipt.sealed !== null
  if (!receipt.bodyExpired && hasPayload) return receipt
  throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receipt.id} is past its retention`)
}

async function matchingIds(
  ledger: LedgerTables,
  receipt: ReceiptRow,
  options: ReplayOptions,
): Promise<number[]> {
  return (await matchingSubscribers(ledger, receipt, options)).map(({ id }) => id)
}

/**
 * The subscribers of the event's type, or the named one of them. The filter function is not
 * available here: a subscriber with a filter must have a job on the event, or be named.
 */
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
      `source "${receipt.source}" has no subscriber "${subscriber}" (there are: ${known})`,
    )
  }
  const { shard, id: receiptId } = receipt
  const existing = new Set((await jobEpochs(pool, { shard, receiptId })).map((job) => job.subscriber))
  return all.filter(({ id, name, pattern }) => {
    const { wantsType, isFiltered } = interestOf(pattern)
    if (!wantsType(receipt.eventType) || (subscriber ?? name) !== name) return false
    return !isFiltered || subscriber !== undefined || existing.has(id)
  })
}

/** Selects failed jobs. All fields but the limit mean the same as in a replay of the admin API. */
export interface FailedFilter extends Omit<ReplayFilter, 'state'> {
  readonly limit: number
}

type PlannedFailure = FailedJob & OfLedger & { readonly shard: number }

/** The work that `replayFailed` would do. */
export interface FailedPlan {
  /** What was asked for. The audit records it. */
  readonly filter: BulkFilter
  readonly jobs: readonly PlannedFailure[]
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
}

async function planFailedIn(ledger: LedgerTables, { limit, ...wanted }: FailedFilter): Promise<FailedPlan> {
  const { tenant, since, until } = wanted
  const filter = storedFilter({ ...wanted, state: 'failed' })
  const jobs = await overShards(ledger, limit, (question) =>
    failedJobs(ledger.pool, { ...filter, ...question, tenant, since, until }),
  )
  const subscribers = jobs.map(({ subscriber }) => subscriber)
  return { filter, jobs, unattended: await unattendedSubscribers(ledger.pool, subscribers) }
}

/** Finds the failed jobs that can be replayed. */
export const planReplayFailed = planEverywhere(
  planFailedIn,
  ({ limit }: FailedFilter) => limit,
  (all, jobs) => ({
    filter: all[0]?.filter ?? { state: 'failed' },
    jobs,
    unattended: all.flatMap(({ unattended }) => unattended),
  }),
)

async function replayFailedIn(
  ledger: LedgerTables,
  { filter, jobs }: FailedPlan,
  reason?: DecisionReason,
  { signal, onProgress }: WorkWatch = {},
): Promise<number> {
  if (reason && jobs.length > 0) {
    // The audit entry is recorded first, so that no job is replayed without one.
    const { by: actor, why, address } = reason
    for (const tenant of new Set(jobs.map((job) => job.tenant))) {
      const detail = { jobs: jobs.filter((job) => job.tenant === tenant).length, filter }
      const entry = { actor, why, tenant, subject: 'failed jobs', detail, address }
      await recordAudit(ledger.pool, { ...entry, action: 'replay-failed' })
    }
  }
  let replayed = 0
  for (const [done, { shard, receiptId, subscriber }] of jobs.entries()) {
    if (signal?.aborted) break
    onProgress?.({ done, total: jobs.length })
    replayed += await replayJobs(ledger.pool, {
      shard,
      receiptIds: [receiptId],
      subscribers: [subscriber],
      states: ['failed'],
    })
  }
  return replayed
}

/**
 * Replays the jobs of a plan, and no other jobs of their receipts. Returns the number of jobs. If a
 * stop is requested, ends after the current job.
 */
export const replayFailed = actWherePlanned(replayFailedIn)
