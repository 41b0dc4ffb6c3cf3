import { asLeaseLost, unknownEffect } from '../../effects/run.ts'
import { inTransaction } from '../../ledger/driver/in-transaction.ts'
import { markOpenCallsUnknown, openCallsOf } from '../../ledger/effects/effects.ts'
import { requireLive } from '../../ledger/jobs/fence.ts'
import type { JobRef } from '../../ledger/jobs/job-ref.ts'
import { stopForAttention } from '../../ledger/jobs/settle.ts'
import type { LedgerTables } from '../../ledger/ledger.ts'
import { HookonceError } from '../../model/errors.ts'

/**
 * Stops a job for attention if the outcome of one of its calls is open, whichever run made the
 * call. Returns the reason. Undefined if no call is open, or the lease was lost.
 */
export async function stopAtOpenCall(
  { pool, shards }: LedgerTables,
  job: JobRef,
): Promise<HookonceError | undefined> {
  const open = await openCallsOf(pool, shards, job)
  if (open.length === 0) return undefined
  return inTransaction(pool, async (client) => {
    await requireLive(client, job)
    const reason = 'it was called, no reply was recorded, and its job has no attempts left'
    const [effect] = await markOpenCallsUnknown(client, { shards, job, reason })
    const fault = effect && unknownEffect(effect, reason)
    if (effect) await stopForAttention(client, { job, effect, reason: `effect "${effect.key}": ${reason}` })
    await client.query('commit')
    return fault
  }).catch((error) => {
    const fault = asLeaseLost(error)
    if (fault instanceof HookonceError && fault.code === 'LEASE_LOST') return undefined
    throw error
  })
}
