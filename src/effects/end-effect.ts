import { setTimeout as delay } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { sqlStateOf } from '../ledger/driver/sql-state.ts'
import {
  type EffectRow,
  type EndedEffect,
  endEffect,
  endUnknown,
  lockEffect,
} from '../ledger/effects/effects.ts'
import { letWaitingGo } from '../ledger/jobs/attention.ts'
import { HookonceError } from '../model/errors.ts'

const FIRST_PAUSE_MS = 50
/** About six seconds in all: enough for a failover, not for an outage. */
const MAX_TRIES = 7

/** Records the outcome of a call, with retries: an outcome that is not recorded becomes unknown. */
export async function recordOutcome(pool: Pool, ended: EndedEffect): Promise<void> {
  for (let tries = 1, pauseMs = FIRST_PAUSE_MS; ; tries += 1, pauseMs *= 2) {
    try {
      if ((await endEffect(pool, ended)) || (await endLate(pool, ended))) return
      throw new HookonceError('LEASE_LOST', `another run has taken over effect "${ended.effect.key}"`)
    } catch (error) {
      if (error instanceof HookonceError || tries >= MAX_TRIES || isRefusal(error)) throw error
    }
    await delay(pauseMs)
  }
}

/** The server refused the statement itself, so a retry would not help. */
function isRefusal(error: unknown): boolean {
  return /^(22|23|42)...$/.test(sqlStateOf(error))
}

/**
 * Records the outcome of a call that exceeded its lease or its timeout. If it already counts as
 * unknown, the waiting jobs then continue. False: an operator or another run has already decided.
 */
function endLate(pool: Pool, ended: EndedEffect): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const row = await lockEffect(client, ended.effect)
    const isTold = row !== undefined && (await endKnown(client, row, ended))
    await client.query('commit')
    return isTold
  })
}

async function endKnown(client: PoolClient, row: EffectRow, ended: EndedEffect): Promise<boolean> {
  if (isMoved(row, ended)) {
    const job = { ...ended.job, subscriber: row.subscriber }
    return endEffect(client, { ...ended, job })
  }
  if (!isUndecided(row, ended)) return false
  await endUnknown(client, ended)
  await letWaitingGo(client, ended.effect)
  return true
}

/**
 * Whether the job of this run was moved to another subscriber, none of whose runs has called since.
 * A run of another subscriber may have the same fence, so only a success counts: it holds for every
 * call with this key.
 */
function isMoved(row: EffectRow, { job, epoch, state }: EndedEffect): boolean {
  if (state !== 'done' || row.state !== 'started' || row.epoch !== epoch) return false
  return row.receiptId === job.receiptId && row.fence === job.fence && row.subscriber !== job.subscriber
}

function isUndecided(row: EffectRow, { job, epoch, state }: EndedEffect): boolean {
  if (row.state !== 'unknown' || row.epoch !== epoch) return false
  // An unknown effect is not called again, so any successful call of this epoch has done it.
  if (state === 'done') return true
  // A refusal counts only if it answers the last call of the epoch.
  return row.receiptId === job.receiptId && row.subscriber === job.subscriber && row.fence === job.fence
}
