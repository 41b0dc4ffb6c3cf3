import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../ledger/in-transaction.ts'
import type { JobRef } from '../ledger/job-ref.ts'
import { addMessages } from '../ledger/outbox.ts'
import { pipeline } from '../ledger/pipeline.ts'
import { endSilent, SilentServer } from '../ledger/silent-server.ts'
import { completeWritten } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import { type HandedOver, recordOf } from './handed-over.ts'
import type { CheckedWrite } from './write.ts'

/** A job whose handler has returned, with the writes and messages that it handed over. */
export interface WrittenJob extends HandedOver {
  readonly job: JobRef
}

export type WriteOutcome =
  | { readonly kind: 'committed' }
  /** The lease was lost before: nothing of it was written. */
  | { readonly kind: 'lost' }
  /** One of its own writes failed: nothing of it was written. */
  | { readonly kind: 'refused'; readonly error: unknown }

/**
 * Commits the writes and completions of many jobs in one transaction: the cost of a commit is shared by all of
 * them. No savepoints: when a batch fails it is rolled back and its members are done one by one, so that only
 * the culprit fails.
 */
export async function commitWrites(pool: Pool, batch: readonly WrittenJob[]): Promise<WriteOutcome[]> {
  try {
    return await inTransaction(pool, (client) => together(client, batch))
  } catch (error) {
    if (await isLedgerDown(error, pool)) throw error
    if (batch.length === 1) return [{ kind: 'refused', error }]
    const outcomes: WriteOutcome[] = []
    for (const member of batch) outcomes.push(...(await commitWrites(pool, [member])))
    return outcomes
  }
}

async function together(client: PoolClient, batch: readonly WrittenJob[]): Promise<WriteOutcome[]> {
  const jobs = batch.map((written) => ({ job: written.job, step: recordOf(written) }))
  const live = await completeWritten(client, jobs)
  const due = batch.flatMap(({ writes }, index) => (live[index] ? writes : []))
  const counts = await pipeline(client, due)
  for (const [index, write] of due.entries()) requireRows(write, counts[index])
  await addMessages(
    client,
    batch.flatMap(({ messages }, index) => (live[index] ? messages : [])),
  )
  await client.query('commit')
  return live.map((isLive) => ({ kind: isLive ? 'committed' : 'lost' }))
}

function requireRows({ text, rows }: CheckedWrite, changed: number | undefined): void {
  if (rows === undefined || changed === rows) return
  const fault = `${rows} rows were expected to change, ${changed} did: ${text.slice(0, 200)}`
  throw new HookonceError('WRITE_UNEXPECTED', fault)
}

/**
 * Not the writes' fault: without a reply of the server to the statement, or with one that it cannot go on. What is called down
 * is tried again for ever, and holds up the writes of all others meanwhile: so whatever one statement can bring about by
 * itself must not be.
 */
async function isLedgerDown(error: unknown, pool: Pool): Promise<boolean> {
  if (error instanceof HookonceError) return false
  if (error instanceof SilentServer) return !(await endSilent(pool, error))
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (OF_A_STATEMENT.has(code)) return false
  return !/^[0-9A-Z]{5}$/.test(code) || /^(08|53|57|58)/.test(code)
}

/** Too few values, or too many; and a statement that took longer than it may, or was cancelled. */
const OF_A_STATEMENT = new Set(['08P01', '57014'])
