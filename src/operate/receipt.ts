import type { EffectStory } from '../ledger/effects/effects.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { AuditRow } from '../ledger/read/audit.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import type { PublishedMessage } from '../ledger/read/outbox.ts'
import {
  type AttemptRow,
  findReceipts,
  type JobRow,
  type ReceiptRow,
  receiptHistory,
} from '../ledger/read/receipts.ts'
import { knownSecretHeaders } from '../sources/catalogue/index.ts'
import { withoutSecrets } from '../sources/headers.ts'
import { jobRecords } from './job-record.ts'
import { isHeldByPause, listPaused, type Paused } from './pause.ts'

export type { AttemptRow, AuditRow }

/** Finds one receipt by its id, or by the beginning of it. */
export async function receiptById({ pool, shards }: LedgerTables, id: string): Promise<ReceiptRow> {
  const found = await findReceipts(pool, shards, id)
  return onlyOne(found, { prefix: id, noun: 'receipt', code: 'RECEIPT_UNKNOWN' })
}

/** The whole chain of one event, from its deliveries to its messages. */
export interface EventChain {
  /** Without the headers that hold a provider's secret; without body and headers past retention. */
  readonly receipt: Omit<ReceiptRow, 'shard'>
  readonly deliveries: Deliveries
  readonly jobs: readonly ChainJob[]
  readonly attempts: readonly AttemptRow[]
  /** Effects whose last call was made by a job of this receipt. */
  readonly effects: readonly ChainEffect[]
  /** Messages of the jobs' current epochs, as far as the outbox still holds them. */
  readonly messages: readonly ChainMessage[]
  readonly decisions: readonly AuditRow[]
  /** Its source or subscribers of it, if they are paused. */
  readonly paused: readonly Paused[]
}

export interface Deliveries {
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** Deliveries with another body than the first. */
  readonly mismatches: number
}

export interface ChainJob extends JobRow {
  /** Whether it waits because its source or its subscriber is paused. */
  readonly held: boolean
  /** Steps, transactions and writes of its current epoch that are done. */
  readonly steps: readonly string[]
}

export type ChainEffect = Omit<EffectStory, 'subscriberId'>

export type ChainMessage = PublishedMessage & { readonly subscriber: string }

/** Reads the whole chain of the event whose receipt has this id, or an id that begins with it. */
export async function readEvent(ledger: LedgerTables, id: string): Promise<EventChain> {
  const found = await receiptById(ledger, id)
  const { shard, ...receipt } = found
  const history = await receiptHistory(ledger.pool, ledger.shards, found)
  const records = await jobRecords(ledger, found)
  const paused = await listPaused(ledger, receipt)
  const { duplicates, jobs, attempts, decisions } = history
  return {
    receipt: await readable(receipt),
    deliveries: {
      count: 1 + (duplicates?.count ?? 0),
      firstAt: receipt.receivedAt,
      lastAt: duplicates?.lastAt ?? receipt.receivedAt,
      mismatches: duplicates?.mismatches ?? 0,
    },
    jobs: jobs.map((job) => ({
      ...job,
      held: paused.some((one) => isHolding(one, job)),
      steps: records.find(({ name }) => name === job.subscriber)?.steps ?? [],
    })),
    attempts,
    effects: history.effects.map(({ subscriberId: _, ...effect }) => effect),
    messages: records.flatMap(({ name, messages }) =>
      messages.map((message) => ({ ...message, subscriber: name })),
    ),
    decisions,
    paused,
  }
}

/** Whether this pause keeps the job from running. */
export function isHolding({ subscriber }: Paused, job: Pick<JobRow, 'state' | 'subscriber'>): boolean {
  return isHeldByPause(job.state) && (subscriber === null || subscriber === job.subscriber)
}

/**
 * The source is not known here. So every header is left out by which any provider of the catalogue
 * sends its secret.
 */
async function readable(receipt: Omit<ReceiptRow, 'shard'>): Promise<Omit<ReceiptRow, 'shard'>> {
  if (receipt.bodyExpired) return { ...receipt, headers: null, body: null }
  if (receipt.headers === null) return receipt
  const names = await knownSecretHeaders()
  const withholds = (name: string): boolean => names.has(name.toLowerCase())
  return { ...receipt, headers: withoutSecrets(receipt.headers, { withholds }) }
}
