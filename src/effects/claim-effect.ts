import type { PoolClient } from 'pg'
import { storable } from '../ledger/driver/binary.ts'
import { inOneWrite, inTransaction } from '../ledger/driver/in-transaction.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import {
  type EffectId,
  type EffectMode,
  type EffectRow,
  lockEffect,
  markUnknown,
  startEffect,
  takeOverEffect,
} from '../ledger/effects/effects.ts'
import { isLive, requireLive } from '../ledger/jobs/fence.ts'
import { stopForAttention } from '../ledger/jobs/settle.ts'
import { EffectBusy } from '../model/handler-errors.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'
import { decide, type RepeatDecision } from './decide.ts'
import { effectDownstreamKey } from './downstream-key.ts'
import { fromRecord, requireSameInput } from './recorded.ts'
import { asLeaseLost, type HandlerRun, stop, unknownEffect } from './run.ts'

/** An effect that a run requests. */
export interface EffectRequest {
  readonly effect: EffectId
  readonly mode: EffectMode
  readonly downstreamTtlMs: number
  readonly reconciles: boolean
  readonly inputHash: Buffer | null
}

export type EffectClaim =
  | { readonly kind: 'done'; readonly result: unknown }
  /** This run must make the call. */
  | { readonly kind: 'ours'; readonly call: OpenCall }

export interface OpenCall {
  readonly epoch: number
  readonly idempotencyKey: string
  /**
   * When an earlier run made a call with the same key, if the outcome of that call was not
   * recorded.
   */
  readonly calledAt: Date | undefined
}

/** The effect that a key names in a tenant. */
export function effectOf({ subscriber, business }: HandlerRun, key: string): EffectId {
  const { tenant } = subscriber
  const id = scopedId(tenant, key)
  return { shard: shardOf(id, business.shards), id, tenant, key }
}

/**
 * Records under the live fence that this run is about to call, or returns why it must not call. The
 * job's row is locked until the commit. If the job is rescued before the commit, no call is
 * started. If it is rescued after the commit, the next run finds the started call.
 */
export async function claimEffect(run: HandlerRun, request: EffectRequest): Promise<EffectClaim> {
  const first = opened(request, 0)
  if (await startFirst(run, request)) return { kind: 'ours', call: first }
  for (;;) {
    const claim = await claimKnown(run, request)
    if (claim) return claim
  }
}

function opened(
  { effect: { tenant, key } }: EffectRequest,
  epoch: number,
  calledAt: Date | undefined = undefined,
): OpenCall {
  return { epoch, calledAt, idempotencyKey: effectDownstreamKey({ tenant, key, epoch }) }
}

/** The usual case takes one round trip: the effect was never requested before. */
function startFirst({ business: { pool }, job }: HandlerRun, request: EffectRequest): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const [live, started, committed] = inOneWrite(
      client,
      () =>
        [
          requireLive(client, job),
          startEffect(client, epochOf(request, job, 0)),
          client.query('commit'),
        ] as const,
    )
    const [, isFirst] = await Promise.all([live, started, committed])
    return isFirst
  }).catch((error) => {
    throw asLeaseLost(error)
  })
}

function epochOf(request: EffectRequest, job: HandlerRun['job'], epoch: number) {
  const { effect, mode, inputHash } = request
  return { effect, job, epoch, mode, inputHash, downstreamKey: opened(request, epoch).idempotencyKey }
}

/** Undefined: another run started the next epoch first; the caller reads again. */
async function claimKnown(run: HandlerRun, request: EffectRequest): Promise<EffectClaim | undefined> {
  const claim = await fenced(run, async (client) => {
    const claimed = await claimLocked(run, request, client)
    if (claimed?.kind === 'stop') await recordUnknown(client, run, { ...claimed, effect: request.effect })
    await client.query('commit')
    return claimed
  })
  if (claim?.kind === 'wait') throw stop(run, busy(request.effect))
  if (claim?.kind !== 'stop') return claim
  run.progress.settled = 'attention'
  throw stop(run, unknownEffect(request.effect, claim.reason))
}

type LockedClaim =
  | EffectClaim
  | { readonly kind: 'wait' }
  | { readonly kind: 'stop'; readonly epoch: number; readonly reason: string }

/** Decides on a known effect while its row is locked. */
export async function claimLocked(
  run: HandlerRun,
  request: EffectRequest,
  db: Queryable,
): Promise<LockedClaim | undefined> {
  const row = await lockEffect(db, request.effect)
  if (!row) return undefined
  const decision = await decideOn(run, { request, row, db })
  switch (decision.kind) {
    case 'return':
      requireSameInput(`effect "${request.effect.key}"`, row.inputHash, request.inputHash)
      return { kind: 'done', result: fromRecord(row.result) }
    case 'next epoch': {
      const epoch = row.epoch + 1
      const began = await startEffect(db, epochOf(request, run.job, epoch))
      return began ? { kind: 'ours', call: opened(request, epoch) } : undefined
    }
    case 'take over':
      requireSameInput(`effect "${request.effect.key}"`, row.inputHash, request.inputHash)
      await takeOverEffect(db, { ...request, job: run.job, epoch: row.epoch })
      return { kind: 'ours', call: opened(request, row.epoch, row.startedAt) }
    case 'wait':
      return decision
    case 'stop':
      return { ...decision, epoch: row.epoch }
  }
}

interface KnownEffect {
  readonly request: EffectRequest
  readonly row: EffectRow
  readonly db: Queryable
}

async function decideOn(run: HandlerRun, { request, row, db }: KnownEffect): Promise<RepeatDecision> {
  const caller = { ...row, shard: shardOf(row.receiptId, run.business.shards) }
  const callerIsLive = row.state === 'started' && (await isLive(db, caller))
  return decide(row, { ...request, callerIsLive })
}

interface UnknownOutcome {
  readonly effect: EffectId
  readonly epoch: number
  readonly reason: string
}

/** One commit marks the effect as unknown and stops the job; see ledger/jobs/settle.ts. */
async function recordUnknown(client: PoolClient, run: HandlerRun, found: UnknownOutcome): Promise<void> {
  await markUnknown(client, { ...found, reason: storable(found.reason) })
  const reason = storable(`effect "${found.effect.key}": ${found.reason}`)
  await stopForAttention(client, { job: run.job, effect: found.effect, reason })
}

/** `reconcile` could not find the outcome of a call: a person must decide. */
export async function stopAtUnknown(run: HandlerRun, found: UnknownOutcome): Promise<never> {
  await fenced(run, async (client) => {
    const row = await lockEffect(client, found.effect)
    if (row?.fence !== run.job.fence || row.receiptId !== run.job.receiptId) throw busy(found.effect)
    await recordUnknown(client, run, found)
    await client.query('commit')
  })
  run.progress.settled = 'attention'
  throw stop(run, unknownEffect(found.effect, found.reason))
}

/**
 * Stops a job whose transaction met an unknown effect and was rolled back, if the effect is still
 * unknown.
 */
export async function stopIfUnknown(run: HandlerRun, request: EffectRequest): Promise<never> {
  const reason = await fenced(run, async (client) => {
    const claimed = await claimLocked(run, request, client)
    if (claimed?.kind !== 'stop') throw stop(run, busy(request.effect))
    await recordUnknown(client, run, { ...claimed, effect: request.effect })
    await client.query('commit')
    return claimed.reason
  })
  run.progress.settled = 'attention'
  throw stop(run, unknownEffect(request.effect, reason))
}

/** A transaction that first requires the live fence of this run. */
function fenced<Result>(
  { business: { pool }, job }: HandlerRun,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return inTransaction(pool, async (client) => {
    await requireLive(client, job)
    return work(client)
  }).catch((error) => {
    throw asLeaseLost(error)
  })
}

/** The usual duration of a call. Jitter is added, so that waiting jobs do not all retry at once. */
const TURN_MS = 1_000

export function busy({ key }: EffectId): EffectBusy {
  return new EffectBusy(TURN_MS * (0.5 + Math.random()), `another job is running the effect "${key}"`)
}
