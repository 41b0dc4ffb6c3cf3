import type { TransactionAdapter } from '../effects/adapters/contract.ts'
import { WRITE_STEP } from '../effects/commit-writes.ts'
import { downstreamKey } from '../effects/downstream-key.ts'
import { outgoing } from '../effects/message.ts'
import {
  type TransactionOptions,
  type TransactionRun,
  transaction,
  type Work,
} from '../effects/transaction.ts'
import { type CheckedWrite, checkWrite } from '../effects/write.ts'
import type { NewMessage } from '../ledger/outbox.ts'
import { HookonceError } from '../model/errors.ts'
import type { AttemptDeps, Run } from './attempt.ts'
import type { Context } from './subscriber.ts'

/** The handler's context, and what it gathered. */
export interface OpenContext {
  readonly ctx: Context
  /** The handler has ended: nothing that it still does counts. */
  close(): Gathered
}

export interface Gathered {
  readonly writes: readonly CheckedWrite[]
  readonly messages: readonly NewMessage[]
  /** A commit of the handler's own has completed the job already. */
  readonly completed: boolean
}

export function openContext(
  { job, attempt, subscriber, interruption, lastStep }: Run,
  { business, outbox }: Pick<AttemptDeps, 'business' | 'outbox'>,
): OpenContext {
  const writes: CheckedWrite[] = []
  const origin = { job, tenant: subscriber.tenant, subscriber: subscriber.name, outbox }
  const atTheEnd = outgoing(origin, WRITE_STEP)
  const doing: TransactionRun = { ...origin, pool: business, lastStep, names: new Set(), completed: false }
  let closed = false

  function requireOpen(what: string): void {
    if (interruption.reason) throw interruption.reason
    if (closed) throw new HookonceError('CONTEXT_CLOSED', `${what} was called after the handler had returned`)
    if (doing.completed)
      throw new HookonceError('CONTEXT_CLOSED', `${what} was called after the last transaction`)
  }

  const ctx: Context = {
    attempt,
    get signal() {
      return interruption.signal
    },
    idempotencyKey: (name) =>
      downstreamKey({ receiptId: job.receiptId, subscriber: subscriber.name, name, epoch: 0 }),
    write(...statements) {
      requireOpen('ctx.write()')
      const checked = statements.map(checkWrite)
      // A replay: they were committed with the completion of the earlier run.
      if (lastStep !== WRITE_STEP) writes.push(...checked)
    },
    publish(topic, payload, options) {
      requireOpen('ctx.publish()')
      return atTheEnd.publish(topic, payload, options)
    },
    async transaction<Result>(
      work: Work<Result>,
      options: TransactionOptions & { on?: TransactionAdapter<unknown> } = {},
    ) {
      requireOpen('ctx.transaction()')
      if (options.last && (writes.length > 0 || atTheEnd.messages.length > 0)) {
        throw new HookonceError(
          'CONTEXT_CLOSED',
          'a last transaction would leave behind what ctx.write() and ctx.publish() gathered: use tx.query() and tx.publish()',
        )
      }
      return transaction(doing, work, options)
    },
  }

  return {
    ctx,
    close() {
      closed = true
      // A replay: they were committed with the completion of the earlier run, as the writes.
      const messages = lastStep === WRITE_STEP ? [] : atTheEnd.messages
      return { writes, messages, completed: doing.completed }
    },
  }
}
