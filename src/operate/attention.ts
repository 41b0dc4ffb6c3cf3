import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { retryConflicts } from '../ledger/driver/sql-state.ts'
import { type EffectId, type EffectRow, lockEffect, markOpenCallsUnknown } from '../ledger/effects/effects.ts'
import {
  type AttentionPosition,
  abandonJob,
  type DecidedEffect,
  decideEffect,
  jobsWaitingFor,
  letGo,
  type UnknownEffect,
  unknownEffects,
  type WaitingJob,
} from '../ledger/jobs/attention.ts'
import { isLive } from '../ledger/jobs/fence.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'
import { everywhere, pagedEverywhere, sortedBy, whereTenant } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { compareText } from './compare-text.ts'
import { timePosition } from './page.ts'

export type { UnknownEffect }

/** How an operator may decide on an effect whose outcome is unknown. */
export const attentionVerbs = ['confirm-done', 'confirm-not-done', 'retry-same-key', 'abandon'] as const

export type AttentionVerb = (typeof attentionVerbs)[number]

/** The actor and the reason, and the tenant unless it is `default`. */
export interface OperatorDecision extends DecisionReason {
  readonly tenant?: string | undefined
}

export interface EffectDecision extends OperatorDecision {
  /** The effect's key. */
  readonly key: string
  readonly verb: AttentionVerb
  /** With `confirm-done`: the result that the handler gets. It must be JSON. */
  readonly result?: unknown
  /** Instead of `result`: its JSON text, which keeps integers beyond 2^53. */
  readonly resultText?: string | undefined
}

/** Effects whose outcome is unknown, and the decisions on them. */
export interface Attention {
  list(): Promise<UnknownEffect[]>
  /** The call happened: the waiting jobs continue with `result`. */
  confirmDone(key: string, decision: OperatorDecision & { readonly result?: unknown }): Promise<Decided>
  /** The call did not happen: it is made again, with a new key. */
  confirmNotDone(key: string, decision: OperatorDecision): Promise<Decided>
  /** The call is made again with the same key. */
  retrySameKey(key: string, decision: OperatorDecision): Promise<Decided>
  /** The waiting jobs fail; the effect stays unknown. */
  abandon(key: string, decision: OperatorDecision): Promise<Decided>
}

export interface Decided {
  readonly key: string
  /** The number of jobs that continue, or that failed. */
  readonly jobs: number
}

function attentionIn(
  { pool, shards }: LedgerTables,
  { tenant }: { readonly tenant?: string | undefined } = {},
): Promise<UnknownEffect[]> {
  return unknownEffects(pool, shards, { tenant })
}

/** All unknown effects, or those of one tenant. */
export const listAttention = everywhere(attentionIn, (all) =>
  sortedBy(all, (a, b) => compareText(a.cursor, b.cursor)),
)

export interface AttentionQuery {
  readonly tenant?: string | undefined
  readonly limit: number
  /** `next` of a page: the list continues after it. */
  readonly after?: string | undefined
  /** `previous` of a page: lists the effects before it. */
  readonly before?: string | undefined
}

const FIRST = '0001-01-01T00:00:00.000000Z_00000000-0000-0000-0000-000000000000'
const LAST = '9999-12-31T00:00:00.000000Z_ffffffff-ffff-ffff-ffff-ffffffffffff'

export interface AttentionPage {
  /** The oldest first. */
  readonly effects: readonly UnknownEffect[]
  readonly next: string | undefined
  readonly previous: string | undefined
}

async function attentionPageIn(
  { pool, shards }: LedgerTables,
  { tenant, limit, after, before }: AttentionQuery,
): Promise<AttentionPage> {
  const place = before === undefined ? { after: positionAt(after) } : { before: positionAt(before) }
  // One extra row shows whether there is another page.
  const found = await unknownEffects(pool, shards, { tenant, limit: limit + 1, ...place })
  const hasMore = found.length > limit
  if (before !== undefined) {
    const effects = hasMore ? found.slice(1) : found
    return {
      effects,
      next: effects.at(-1)?.cursor ?? FIRST,
      previous: hasMore ? effects[0]?.cursor : undefined,
    }
  }
  const effects = found.slice(0, limit)
  const next = hasMore ? effects.at(-1)?.cursor : undefined
  return { effects, next, previous: after === undefined ? undefined : (effects[0]?.cursor ?? LAST) }
}

/** Lists effects whose outcome is unknown in pages: an outage may leave many. */
export const pageAttention = pagedEverywhere(attentionPageIn, {
  itemsOf: ({ effects }: AttentionPage) => effects,
  cursorOf: ({ cursor }: UnknownEffect) => cursor,
  make: (effects, ends) => ({ effects, ...ends }),
  compare: compareText,
  first: FIRST,
  last: LAST,
  limitOf: ({ limit }: AttentionQuery) => limit,
})

function positionAt(cursor: string | undefined): AttentionPosition | undefined {
  if (cursor === undefined) return undefined
  return timePosition(cursor)
}

/** Decisions that abandon jobs lock several effects, so two of them may deadlock. */
async function decideIn(ledger: LedgerTables, decision: EffectDecision): Promise<Decided> {
  requireReason(decision, 'a decision')
  return retryConflicts(() => tryToDecide(ledger, decision))
}

async function tryToDecide(ledger: LedgerTables, decision: EffectDecision): Promise<Decided> {
  const { tenant = 'default', key } = decision
  const id = scopedId(tenant, key)
  const effect: EffectId = { shard: shardOf(id, ledger.shards), id, tenant, key }
  return inTransaction(ledger.pool, async (client) => {
    const row = await lockEffect(client, effect)
    const waiting = await jobsWaitingFor(client, effect)
    const needsDecision = row !== undefined && (await isUndecided(client, ledger, { row, waiting }))
    // If the outcome is known by now, the effect stays unchanged, and only the waiting jobs are
    // moved.
    if (!row || !(needsDecision || waiting.length > 0)) {
      const fault = `effect "${key}" of tenant "${tenant}" ${stateText(row)}`
      throw new HookonceError('EFFECT_NOT_UNKNOWN', fault)
    }
    const outcome = needsDecision ? outcomeOf(decision) : undefined
    if (outcome) {
      const caller = outcome.state === 'started' ? waiting[0] : undefined
      await decideEffect(client, { effect, epoch: row.epoch, caller, ...outcome })
    }
    const jobs = await moveJobs({ client, shards: ledger.shards }, waiting, decision)
    const detail = { epoch: row.epoch, mode: row.mode, downstreamKey: row.downstreamKey, jobs }
    await recordAudit(client, {
      actor: decision.by,
      action: decision.verb,
      why: decision.why,
      tenant,
      subject: key,
      detail,
      address: decision.address,
    })
    await client.query('commit')
    return { key, jobs }
  })
}

/**
 * Decides on an effect whose outcome is unknown. One commit holds the new state of the effect, of
 * every job that waits for it, and the audit entry.
 */
export const decideAttention = whereTenant(([{ tenant }]) => tenant, decideIn)

interface AwaitedEffect {
  readonly row: EffectRow
  readonly waiting: readonly WaitingJob[]
}

/**
 * Whether the outcome of an effect depends on this decision. A rescuer that died may have left the
 * effect `started`, with a job in `attention`: no run will record its outcome then. An effect that
 * a fresh replay reopened needs no decision: the next job calls it again.
 */
async function isUndecided(
  client: PoolClient,
  { shards }: LedgerTables,
  { row, waiting }: AwaitedEffect,
): Promise<boolean> {
  if (row.reopened) return false
  if (row.state !== 'started' || waiting.length === 0) return row.state === 'unknown'
  return !(await isLive(client, { ...row, shard: shardOf(row.receiptId, shards) }))
}

function stateText(row: EffectRow | undefined): string {
  if (!row) return 'does not exist'
  return row.reopened ? 'was reopened by a fresh replay' : `is ${row.state}`
}

/** Undefined: the effect stays unknown. */
function outcomeOf({
  verb,
  by,
  why,
  result,
  resultText,
}: EffectDecision): Pick<DecidedEffect, 'state' | 'reason' | 'result'> | undefined {
  const reason = `${verb} by ${by}: ${why}`
  switch (verb) {
    case 'confirm-done':
      return {
        state: 'done',
        reason,
        result: resultText ?? (result === undefined ? null : JSON.stringify(result)),
      }
    case 'confirm-not-done':
      return { state: 'failed', reason, result: null }
    case 'retry-same-key':
      return { state: 'started', reason, result: null }
    case 'abandon':
      return undefined
  }
}

interface DecisionCommit {
  readonly client: PoolClient
  readonly shards: number
}

async function moveJobs(
  commit: DecisionCommit,
  waiting: readonly WaitingJob[],
  decision: EffectDecision,
): Promise<number> {
  let moved = 0
  for (const job of waiting) {
    moved +=
      decision.verb === 'abandon' ? await abandon(commit, job, decision) : await letGo(commit.client, job)
  }
  return moved
}

/**
 * No run of the job will record the outcomes of its other open calls, so these become unknown too.
 */
async function abandon(
  { client, shards }: DecisionCommit,
  job: WaitingJob,
  { by, why }: EffectDecision,
): Promise<number> {
  const reason = 'it was called, no reply was recorded, and its job was abandoned'
  await markOpenCallsUnknown(client, { shards, job, reason })
  return abandonJob(client, job, `abandoned by ${by}: ${why}`)
}
