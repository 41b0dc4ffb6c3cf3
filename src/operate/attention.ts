import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { type EffectId, type EffectRow, lockEffect, markOpenCallsUnknown } from '../ledger/effects/effects.ts'
import {
  abandonJob,
  type DecidedEffect,
  decideEffect,
  jobsWaitingFor,
  letGo,
  type UnknownEffect,
  unknownEffects,
  type WaitingJob,
} from '../ledger/jobs/attention.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'
import { type DecisionReason, requireReason } from './audit.ts'

export type { UnknownEffect }

/** How an operator may decide on an effect whose outcome is unknown. */
export const attentionVerbs = ['confirm-done', 'confirm-not-done', 'retry-same-key', 'abandon'] as const

export type AttentionVerb = (typeof attentionVerbs)[number]

/** Who decides, and why; the tenant, unless it is `default`. */
export interface OperatorDecision extends DecisionReason {
  readonly tenant?: string | undefined
}

export interface EffectDecision extends OperatorDecision {
  /** The effect's key. */
  readonly key: string
  readonly verb: AttentionVerb
  /** With `confirm-done`: the result that the handler gets. It must be JSON. */
  readonly result?: unknown
}

/** Effects whose outcome is unknown, and the decisions on them. */
export interface Attention {
  list(): Promise<UnknownEffect[]>
  /** The call happened: the waiting jobs go on with `result`. */
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
  /** How many jobs go on, or failed. */
  readonly jobs: number
}

export function listAttention({ pool, shards }: LedgerTables): Promise<UnknownEffect[]> {
  return unknownEffects(pool, shards)
}

/**
 * Decides on an effect whose outcome is unknown. One commit holds the new state of the effect, of
 * every job that waits for it, and the audit entry.
 */
export async function decideAttention(ledger: LedgerTables, decision: EffectDecision): Promise<Decided> {
  requireReason(decision, 'a decision')
  const { tenant = 'default', key } = decision
  const id = scopedId(tenant, key)
  const effect: EffectId = { shard: shardOf(id, ledger.shards), id, tenant, key }
  return inTransaction(ledger.pool, async (client) => {
    const row = await lockEffect(client, effect)
    const waiting = await jobsWaitingFor(client, effect)
    // If its outcome is known, the effect stays as it is, and only the waiting jobs are moved.
    if (!row || !(isUndecided(row) || waiting.length > 0)) {
      const fault = `effect "${key}" of tenant "${tenant}" ${stateText(row)}`
      throw new HookonceError('EFFECT_NOT_UNKNOWN', fault)
    }
    const outcome = isUndecided(row) ? outcomeOf(decision) : undefined
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
    })
    await client.query('commit')
    return { key, jobs }
  })
}

/** An effect that a fresh replay reopened needs no decision: the next job calls it again. */
function isUndecided({ state, reopened }: EffectRow): boolean {
  return state === 'unknown' && !reopened
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
}: EffectDecision): Pick<DecidedEffect, 'state' | 'reason' | 'result'> | undefined {
  const reason = `${verb} by ${by}: ${why}`
  switch (verb) {
    case 'confirm-done':
      return { state: 'done', reason, result: result === undefined ? null : JSON.stringify(result) }
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

/** No run of the job will learn the outcome of its other open calls, so they become unknown too. */
async function abandon(
  { client, shards }: DecisionCommit,
  job: WaitingJob,
  { by, why }: EffectDecision,
): Promise<number> {
  const reason = 'it was called, no reply was recorded, and its job was abandoned'
  await markOpenCallsUnknown(client, { shards, job, reason })
  return abandonJob(client, job, `abandoned by ${by}: ${why}`)
}
