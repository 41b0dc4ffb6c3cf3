import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../ledger/in-transaction.ts'
import type { JobRef } from '../ledger/jobs.ts'
import { completeWritten } from '../ledger/steps.ts'
import { HookonceError } from '../model/errors.ts'
import type { CheckedWrite } from './write.ts'

/** A job whose handler has returned, with the writes that it handed over. */
export interface WrittenJob {
  readonly job: JobRef
  readonly writes: readonly CheckedWrite[]
}

export type WriteOutcome =
  | { readonly kind: 'committed' }
  /** The lease was lost before: nothing of it was written. */
  | { readonly kind: 'lost' }
  /** One of its own writes failed: nothing of it was written. */
  | { readonly kind: 'refused'; readonly error: unknown }

/** The step under which the writes of a job are known: a replay does not repeat them. */
export const WRITE_STEP = '(write)'

/** Handlers say the same few statements again and again; a program that builds its SQL anew must not fill the server. */
const MAX_PREPARED = 100

/**
 * Commits the writes and completions of many jobs in one transaction: the cost of a commit is shared by all of
 * them. No savepoints: when a batch fails it is rolled back and its members are done one by one, so that only
 * the culprit fails.
 */
export function writeCommitter(pool: Pool): (batch: readonly WrittenJob[]) => Promise<WriteOutcome[]> {
  const prepared = new Map<string, string>()

  async function commit(batch: readonly WrittenJob[]): Promise<WriteOutcome[]> {
    try {
      return await inTransaction(pool, (client) => together(client, batch))
    } catch (error) {
      if (isLedgerDown(error)) throw error
      if (batch.length === 1) return [{ kind: 'refused', error }]
      const outcomes: WriteOutcome[] = []
      for (const member of batch) outcomes.push(...(await commit([member])))
      return outcomes
    }
  }

  async function together(client: PoolClient, batch: readonly WrittenJob[]): Promise<WriteOutcome[]> {
    const jobs = batch.map(({ job }) => job)
    const live = await completeWritten(client, jobs, WRITE_STEP)
    const due = batch.flatMap(({ writes }, index) => (live[index] ? writes : []))
    await Promise.all(due.map((write) => send(client, write)))
    await client.query('commit')
    return live.map((isLive) => ({ kind: isLive ? 'committed' : 'lost' }))
  }

  async function send(client: PoolClient, { text, values, rows }: CheckedWrite): Promise<void> {
    const result = await client.query({ ...preparedAs(text), text, values: [...values] })
    if (rows === undefined || result.rowCount === rows) return
    const fault = `${rows} rows were expected to change, ${result.rowCount} did: ${text.slice(0, 200)}`
    throw new HookonceError('WRITE_UNEXPECTED', fault)
  }

  function preparedAs(text: string): { name: string } | undefined {
    let name = prepared.get(text)
    if (name === undefined && prepared.size < MAX_PREPARED) {
      name = `hookonce_write_${prepared.size}`
      prepared.set(text, name)
    }
    return name === undefined ? undefined : { name }
  }

  return commit
}

/** Not the writes' fault: without a reply of the server to the statement, or with one that it cannot go on. */
function isLedgerDown(error: unknown): boolean {
  if (error instanceof HookonceError) return false
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  return !/^[0-9A-Z]{5}$/.test(code) || /^(08|53|57|58)/.test(code)
}
