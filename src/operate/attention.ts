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
import { audit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'

/** What a person may say of an effect whose outcome is unknown. */
export const verbs = ['confirm-done', 'confirm-not-done', 'retry-same-key', 'abandon'] as const

export type Verb = (typeof verbs)[number]

export interface Verdict {
  readonly tenant?: string | undefined
  /** The effect's key. */
  readonly key: string
  readonly verb: Verb
  /** Who decides, and why: both are kept. */
  readonly by: string
  readonly why: string
  /** With `confirm-done`: what the handler is to get, as JSON. */
  readonly result?: unknown
}

/** Who decides, and why; the tenant where it is not `default`. */
export type Decision = Pick<Verdict, 'tenant' | 'by' | 'why'>

/** Effects whose outcome is unknown, and what a person decides on them. */
export interface Attention {
  list(): Promise<UnknownEffect[]>
  /** It happened: the jobs that wait go on with `result`. */
  confirmDone(key: string, decision: Decision & { readonly result?: unknown }): Promise<Decided>
  /** It did not happen: it is called again, with a new key. */
  confirmNotDone(key: string, decision: Decision): Promise<Decided>
  /** It is called again with the key that was used. */
  retrySameKey(key: string, decision: Decision): Promise<Decided>
  /** The jobs that wait are given up; the effect stays unknown. */
  abandon(key: string, decision: Decision): Promise<Decided>
}

export interface Decided {
  readonly key: string
  /** How many jobs go on, or were given up. */
  readonly jobs: number
}

export function listAttention({ pool, shards }: LedgerTables): Promise<UnknownEffect[]> {
  return unknownEffects(pool, shards)
}

/**
 * Decides on an effect whose outcome is unknown. The decision, what becomes of every job that waits
 * for it, and the record of who decided are one commit.
 */
export async function decideAttention(ledger: LedgerTables, verdict: Verdict): Promise<Decided> {
  requireReasons(verdict)
  const { tenant = 'default', key } = verdict
  const id = scopedId(tenant, key)
  const effect: EffectId = { shard: shardOf(id, ledger.shards), id, tenant, key }
  return inTransaction(ledger.pool, async (client) => {
    const row = await lockEffect(client, effect)
    const waiting = await jobsWaitingFor(client, effect)
    // Where its outcome is known, the ledger stands, and only the jobs that wait for it are moved.
    if (!row || !(isUndecided(row) || waiting.length > 0)) {
      const fault = `effect "${key}" of tenant "${tenant}" ${found(row)}`
      throw new HookonceError('EFFECT_NOT_UNKNOWN', fault)
    }
    const outcome = isUndecided(row) ? outcomeOf(verdict) : undefined
    if (outcome) {
      const caller = outcome.state === 'started' ? waiting[0] : undefined
      await decideEffect(client, { effect, epoch: row.epoch, caller, ...outcome })
    }
    const jobs = await moveJobs({ client, shards: ledger.shards }, waiting, verdict)
    const detail = { epoch: row.epoch, mode: row.mode, downstreamKey: row.downstreamKey, jobs }
    await audit(client, {
      actor: verdict.by,
      action: verdict.verb,
      why: verdict.why,
      tenant,
      subject: key,
      detail,
    })
    await client.query('commit')
    return { key, jobs }
  })
}

/** An effect that a fresh replay reopened needs no decision: whoever asks next calls anew. */
function isUndecided({ state, reopened }: EffectRow): boolean {
  return state === 'unknown' && !reopened
}

function found(row: EffectRow | undefined): string {
  if (!row) return 'does not exist'
  return row.reopened ? 'was reopened by a fresh replay' : `is ${row.state}`
}

function requireReasons({ by, why }: Verdict): void {
  if (by.trim() !== '' && why.trim() !== '') return
  throw new HookonceError(
    'CONFIG_INVALID',
    'a decision needs `by` and `why`: who decides, and for what reason',
  )
}

/** Undefined: the effect stays unknown. */
function outcomeOf({
  verb,
  by,
  why,
  result,
}: Verdict): Pick<DecidedEffect, 'state' | 'reason' | 'result'> | undefined {
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

interface Deciding {
  readonly client: PoolClient
  readonly shards: number
}

async function moveJobs(
  deciding: Deciding,
  waiting: readonly WaitingJob[],
  verdict: Verdict,
): Promise<number> {
  let moved = 0
  for (const job of waiting) {
    moved +=
      verdict.verb === 'abandon' ? await giveUp(deciding, job, verdict) : await letGo(deciding.client, job)
  }
  return moved
}

/** What became of the job's other calls is then a question too: nobody is left who would ask it. */
async function giveUp({ client, shards }: Deciding, job: WaitingJob, { by, why }: Verdict): Promise<number> {
  const reason = 'it was called, no reply was recorded, and its job was abandoned'
  await markOpenCallsUnknown(client, { shards, job, reason })
  return abandonJob(client, job, `abandoned by ${by}: ${why}`)
}
