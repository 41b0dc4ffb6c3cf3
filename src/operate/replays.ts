import { inTransaction } from '../ledger/driver/in-transaction.ts'
import {
  addBulkReplay,
  type BulkFilter,
  type BulkReplayRow,
  cancelBulkReplay,
  doneEffects,
  findBulkReplay,
  nextJobs,
  nextSubscriber,
  pruneBulkReplays,
  readBulkReplays,
} from '../ledger/jobs/bulk-replay.ts'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { ALL_TENANTS, recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { everywhere, sortedBy, whereFound, whereSource } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { errorPattern } from './events.ts'
import { likePattern } from './page.ts'
import type { TenantScope } from './receipt.ts'
import { requireKnown } from './sources.ts'

/*
 * Replays of many jobs. A plan comes first, then a named replay that the chore `replay-many` runs
 * at a limited rate. Work that is recorded as done is not repeated.
 */

export interface ReplayFilter {
  readonly tenant?: string | undefined
  /** `failed`: jobs that failed for good. `processed`: finished jobs, which requires `since`. */
  readonly state: 'failed' | 'processed'
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly type?: string | undefined
  /** The fingerprint of a group of failures, or a part of the error. */
  readonly error?: string | undefined
  /** A limit on the time of the failure. With `processed`, on the time of the receipt. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

export type ManyReplay = BulkReplayRow

export interface ManyPlan {
  /** The number of matching jobs. */
  readonly jobs: number
  /** False: there are more jobs than were counted. */
  readonly isComplete: boolean
  /** Some matching receipts. */
  readonly sample: readonly string[]
  readonly effects: PlannedEffects
  readonly estimatedSeconds: number
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
}

/** Finished effects, which will not happen again. */
export interface PlannedEffects {
  readonly count: number
  /** The number of jobs whose effects were counted. */
  readonly ofJobs: number
  readonly keys: readonly string[]
}

/** The number of jobs that a plan reads. More would take too long for a waiting person. */
const MAX_PLANNED = 20_000
const PER_READ = 2_000
const SAMPLE = 10
/** The number of jobs whose effects are counted. */
const EFFECTS_OF = 200
const EFFECT_KEYS = 20

export interface ManyRequest {
  readonly filter: ReplayFilter
  /** The number of jobs per second, over all processes. */
  readonly perSecond: number
}

async function planIn(ledger: LedgerTables, { filter, perSecond }: ManyRequest): Promise<ManyPlan> {
  const walk = { tenant: filter.tenant ?? null, filter: storedFilter(filter), createdAt: new Date() }
  await requireKnown(ledger, filter)
  const ids: string[] = []
  const subscribers = new Set<number>()
  let seen = 0
  for (
    let subscriber = await nextSubscriber(ledger.pool, 0, walk);
    subscriber !== undefined && seen < MAX_PLANNED;
    subscriber = await nextSubscriber(ledger.pool, subscriber + 1, walk)
  ) {
    for (let shard = 0; shard < ledger.shards && seen < MAX_PLANNED; shard += 1) {
      let position = { shard, subscriber, at: '-infinity', id: '00000000-0000-0000-0000-000000000000' }
      for (let read = PER_READ; read === PER_READ && seen < MAX_PLANNED; ) {
        const jobs = await nextJobs(ledger.pool, { ...walk, position, limit: PER_READ })
        const wanted = jobs.filter((job) => job.wanted).map((job) => job.id)
        if (wanted.length > 0) subscribers.add(subscriber)
        ids.push(...wanted)
        read = jobs.length
        seen += read
        const last = jobs.at(-1)
        if (last) position = { ...position, at: last.at, id: last.id }
      }
    }
  }
  return {
    jobs: ids.length,
    isComplete: seen < MAX_PLANNED,
    sample: ids.slice(0, SAMPLE),
    effects: await effectsOf(ledger, ids.slice(0, EFFECTS_OF)),
    estimatedSeconds: Math.ceil(ids.length / perSecond),
    unattended: await unattendedSubscribers(ledger.pool, [...subscribers]),
  }
}

export const planReplays = whereSource(([{ filter }]) => filter, planIn)

async function effectsOf(
  { pool, shards }: LedgerTables,
  receiptIds: readonly string[],
): Promise<PlannedEffects> {
  const found = await doneEffects(pool, { shards, receiptIds, limit: EFFECT_KEYS })
  return { count: found[0]?.total ?? 0, ofJobs: receiptIds.length, keys: found.map(({ key }) => key) }
}

/** The number of replays that may run at once. More would only share the workers. */
const MAX_RUNNING = 5
/** The number of ended replays that are kept for the list. */
const MAX_KEPT = 1_000

export interface StartedReplay extends ManyRequest {
  /** A name for people, such as the incident that the replay repairs. */
  readonly name: string
}

async function startIn(
  ledger: LedgerTables,
  { name, filter, perSecond }: StartedReplay,
  reason: DecisionReason,
): Promise<ManyReplay> {
  requireReason(reason, 'a replay')
  const { jobs } = await planReplays(ledger, { filter, perSecond })
  const tenant = filter.tenant ?? null
  const { by: actor, why, address } = reason
  const stored = storedFilter(filter)
  return inTransaction(ledger.pool, async (client) => {
    const row = { name, tenant, actor, why, filter: stored, perSecond, expected: jobs, most: MAX_RUNNING }
    const added = await addBulkReplay(client, row)
    if (!added)
      throw new HookonceError('REPLAY_LIMIT', `${MAX_RUNNING} replays are in progress, which is the limit`)
    await pruneBulkReplays(client, MAX_KEPT)
    await recordAudit(client, {
      actor,
      action: 'start-replay',
      why,
      tenant: tenant ?? ALL_TENANTS,
      subject: `replay ${added.id}`,
      detail: { name, filter: stored, perSecond, expected: jobs },
      address,
    })
    await client.query('commit')
    return added
  })
}

/**
 * Starts a replay. It continues in the background, even after a restart, until it is done or
 * cancelled.
 */
export const startReplay = whereSource(([{ filter }]) => filter, startIn)

async function cancelIn(
  ledger: LedgerTables,
  id: string,
  { scope = {}, reason }: { readonly scope?: TenantScope; readonly reason: DecisionReason },
): Promise<ManyReplay> {
  const found = await readReplay(ledger, id, scope)
  if (found.state !== 'running') return found
  const { by: actor, why, address } = reason
  const ended = await inTransaction(ledger.pool, async (client) => {
    const cancelled = await cancelBulkReplay(client, id)
    if (cancelled) {
      const { name, replayed } = cancelled
      await recordAudit(client, {
        actor,
        action: 'cancel-replay',
        why,
        tenant: cancelled.tenant ?? ALL_TENANTS,
        subject: `replay ${id}`,
        detail: { name, replayed },
        address,
      })
    }
    await client.query('commit')
    return cancelled
  })
  return ended ?? readReplay(ledger, id, scope)
}

export const cancelReplay = whereFound((ledger, [id, { scope }]) => replayIn(ledger, id, scope), cancelIn)

async function replayIn(
  { pool }: LedgerTables,
  id: string,
  { tenant }: TenantScope = {},
): Promise<ManyReplay> {
  const found = UUID.test(id) ? await findBulkReplay(pool, id) : undefined
  if (found && (tenant === undefined || found.tenant === tenant)) return found
  throw new HookonceError('REPLAY_UNKNOWN', `there is no replay "${id}"`)
}

export const readReplay = whereFound((ledger, [id, scope]) => replayIn(ledger, id, scope), replayIn)

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function replaysIn({ pool }: LedgerTables, { tenant }: TenantScope = {}): Promise<ManyReplay[]> {
  return readBulkReplays(pool, { tenant, limit: MAX_KEPT })
}

/** The newest first. */
export const listReplays = everywhere(replaysIn, (all) =>
  sortedBy(all, (a, b) => b.createdAt.getTime() - a.createdAt.getTime(), MAX_KEPT),
)

/** The filter as the ledger stores and applies it. */
export function storedFilter({ tenant: _, type, error, since, until, ...filter }: ReplayFilter): BulkFilter {
  if (filter.state === 'processed' && since === undefined)
    throw new HookonceError(
      'CONFIG_INVALID',
      'a replay of processed jobs needs `since`, the beginning of its period',
    )
  return {
    ...filter,
    typeLike: type === undefined ? undefined : likePattern(type),
    error: error === undefined ? undefined : errorPattern(error),
    since: since?.toISOString(),
    until: until?.toISOString(),
  }
}
