import { type ClaimedJob, sealedPayloadOf } from '../ledger/jobs/claim.ts'
import type { Vault } from '../ledger/vault/vault.ts'
import { HookonceError } from '../model/errors.ts'

/**
 * Opens the encrypted payloads of claimed jobs. If a payload cannot be read, its job keeps the
 * reason, and its run fails with it. The other claimed jobs are not affected.
 */
export async function openPayloads(vault: Vault, jobs: ClaimedJob[]): Promise<ClaimedJob[]> {
  const sealed = jobs.flatMap((job) => sealedPayloadOf(job) ?? [])
  if (sealed.length === 0) return jobs
  const opened = await vault.open(sealed).catch((error: unknown) => {
    const fault = new HookonceError('LEDGER_DOWN', `the data keys cannot be read: ${String(error)}`, {
      cause: error,
    })
    return sealed.map(() => fault)
  })
  const byId = new Map(sealed.map(({ receiptId }, index) => [receiptId, opened[index]]))
  return jobs.map((job) => {
    const payload = sealedPayloadOf(job) && byId.get(job.receiptId)
    if (payload === undefined) return job
    if (payload instanceof HookonceError) return { ...job, unreadable: payload }
    return { ...job, headers: payload.headers, largeBody: payload.body }
  })
}
