import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { handOnEffects, markOpenCallsUnknown } from '../ledger/effects/effects.ts'
import { type ServedSubscriber, servedSubscribers } from '../ledger/jobs/served.ts'
import {
  discardWaiting,
  moveWaiting,
  type SettledJob,
  type WaitingType,
  waitingTypes,
} from '../ledger/jobs/waiting-jobs.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { interestOf } from '../model/interest.ts'
import { everywhere, whereTenant } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { type CircuitView, listLimits, type RateView } from './limits.ts'
import type { TenantScope } from './receipt.ts'

export type { ServedSubscriber }

/** A subscriber with its circuit and rate. */
export interface ListedSubscriber extends ServedSubscriber {
  /** Null: it has no circuit. */
  readonly circuit: CircuitView | null
  /** Null: it has no rate. */
  readonly rate: RateView | null
}

async function subscribersIn(
  ledger: LedgerTables,
  { tenant }: TenantScope = {},
): Promise<ListedSubscriber[]> {
  const all = await servedSubscribers(ledger.pool, ledger.shards)
  const limited = await listLimits(ledger)
  const limits = new Map(limited.map((one) => [one.id, one]))
  const others = limited.filter((one) => tenant !== undefined && one.tenant !== tenant)
  const shared = new Set(others.map(({ limiter }) => limiter))
  return all
    .filter((one) => tenant === undefined || one.tenant === tenant)
    .map((one) => {
      const { limiter = '', circuit = null, rate = null } = limits.get(one.id) ?? {}
      // The reason may quote the response to an event of another tenant.
      const shown = circuit && shared.has(limiter) ? { ...circuit, reason: null } : circuit
      return { ...one, circuit: shown, rate }
    })
}

/**
 * The subscribers in the ledger, with their waiting jobs, their workers and their limits. With a
 * tenant, only data that this tenant may see.
 */
export const listSubscribers = everywhere(subscribersIn, (all) => all.flat())

/** Few jobs per transaction, so that locks are short. */
const BATCH = 500

/** A subscriber whose waiting jobs are to be moved or discarded. */
export interface WaitingRequest {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  /** The subscriber that gets the jobs. Undefined: they are discarded. */
  readonly to?: string | undefined
  /** Also moves jobs that have run before. */
  readonly begun?: boolean | undefined
}

/** The work that `settleWaiting` would do. */
export interface WaitingPlan {
  readonly from: ServedSubscriber
  readonly to: ServedSubscriber | undefined
  /** The number of jobs that are moved or discarded. */
  readonly jobs: number
  /** The event types of the jobs that are moved. */
  readonly types: readonly string[]
  /** Jobs that stay, because the other subscriber does not subscribe to their type. */
  readonly unwanted: readonly WaitingType[]
  /** The number of jobs that stay, because they have run before. */
  readonly begun: number
}

async function planWaitingIn(ledger: LedgerTables, request: WaitingRequest): Promise<WaitingPlan> {
  const all = await servedSubscribers(ledger.pool, ledger.shards)
  const from = findSubscriber(all, request, request.subscriber)
  if (from.isServed)
    throw new HookonceError(
      'CONFIG_INVALID',
      `a running worker serves "${from.subscriber}" of source "${from.source}": stop every process that registers it first`,
    )
  if (request.to === undefined)
    return { from, to: undefined, jobs: from.waiting, types: [], unwanted: [], begun: 0 }
  const to = findSubscriber(all, request, request.to)
  if (to.id === from.id) throw new HookonceError('CONFIG_INVALID', 'a subscriber cannot get its own jobs')
  const types = await waitingTypes(ledger.pool, ledger.shards, from.id)
  const { wantsType: wants } = interestOf(to.pattern)
  const wanted = types.filter(({ type }) => wants(type))
  const begun = request.begun ? 0 : sum(wanted.map((type) => type.begun))
  return {
    from,
    to,
    jobs: sum(wanted.map(({ jobs }) => jobs)) - begun,
    types: wanted.map(({ type }) => type),
    unwanted: types.filter(({ type }) => !wants(type)),
    begun,
  }
}

export const planWaiting = whereTenant(([{ tenant }]) => tenant, planWaitingIn)

async function settleWaitingIn(
  ledger: LedgerTables,
  request: WaitingRequest,
  reason: DecisionReason,
): Promise<number> {
  requireReason(reason, request.to === undefined ? 'discarding jobs' : 'moving jobs')
  const { by, why, address } = reason
  const plan = await planWaiting(ledger, request)
  const { from, to, types } = plan
  await recordAudit(ledger.pool, {
    actor: by,
    action: to ? 'move-jobs' : 'discard-jobs',
    why,
    tenant: from.tenant,
    subject: `${from.source} ${from.subscriber}`,
    detail: { jobs: plan.jobs, ...(to ? { to: to.subscriber, begun: request.begun ?? false } : {}) },
    address,
  })
  const text = to ? `MOVED to "${to.subscriber}" by ${by}: ${why}` : `DISCARDED by ${by}: ${why}`
  let count = 0
  for (let shard = 0; shard < ledger.shards; shard += 1) {
    const batch = { shard, subscriber: from.id, limit: BATCH, reason: text }
    count += await inBatches(() =>
      inTransaction(ledger.pool, async (client) => {
        const settled = to
          ? await moveWaiting(client, { ...batch, to: to.id, types, begun: request.begun ?? false })
          : await discardWaiting(client, batch)
        await settleEffects(client, ledger.shards, { settled, from: from.id, to: to?.id })
        await client.query('commit')
        return settled.length
      }),
    )
  }
  return count
}

/**
 * Moves or discards the waiting jobs of a subscriber. The audit entry is committed first, so that
 * no job changes without an entry. Returns the number of jobs.
 */
export const settleWaiting = whereTenant(([{ tenant }]) => tenant, settleWaitingIn)

interface SettledBatch {
  readonly settled: readonly SettledJob[]
  /** The subscriber of the jobs. */
  readonly from: number
  /** The subscriber that continues them. Undefined: they were discarded. */
  readonly to: number | undefined
}

/**
 * The effects of a continued job belong to the job that continues it. No run of another job will
 * record the outcome of its open calls, so these become unknown.
 */
async function settleEffects(
  client: PoolClient,
  shards: number,
  { settled, from: subscriber, to }: SettledBatch,
): Promise<void> {
  const begun = settled.filter(({ hasRun }) => hasRun)
  const receiptIds = begun.filter(({ isContinued }) => isContinued).map(({ receiptId }) => receiptId)
  if (to !== undefined && receiptIds.length > 0)
    await handOnEffects(client, shards, { receiptIds, subscriber, to })
  const reason = 'it was called, no reply was recorded, and its job was discarded'
  for (const { receiptId, isContinued } of begun) {
    if (!isContinued) await markOpenCallsUnknown(client, { shards, job: { receiptId, subscriber }, reason })
  }
}

async function inBatches(settle: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = BATCH; batch === BATCH; ) {
    batch = await settle()
    total += batch
  }
  return total
}

function findSubscriber(
  all: readonly ServedSubscriber[],
  { tenant, source }: WaitingRequest,
  name: string,
): ServedSubscriber {
  const ofSource = all.filter((one) => one.tenant === tenant && one.source === source)
  const found = ofSource.find(({ subscriber }) => subscriber === name)
  if (found) return found
  const known = ofSource.map(({ subscriber }) => subscriber).join(', ') || 'none'
  throw new HookonceError(
    'CONFIG_INVALID',
    `source "${source}" has no subscriber "${name}" (there are: ${known})`,
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
