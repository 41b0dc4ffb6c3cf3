import type { EffectStory } from '../ledger/effects/effects.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { AuditRow } from '../ledger/read/audit.ts'
import { ledgerClock } from '../ledger/read/changes.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import type { PublishedMessage } from '../ledger/read/outbox.ts'
import {
  type AttemptRow,
  findReceipts,
  type JobRow,
  type ReceiptRow,
  receiptHistory,
} from '../ledger/read/receipts.ts'
import { openVault } from '../ledger/vault/vault.ts'
import { HookonceError } from '../model/errors.ts'
import { hash } from '../model/hash.ts'
import { IMPORTED, NO_SECRET } from '../model/reconciled.ts'
import { withoutSecrets } from '../sources/headers.ts'
import { SECRET_HEADERS } from '../sources/secret-headers.ts'
import { whereFound } from './across.ts'
import { type JobRecord, jobRecords } from './job-record.ts'
import { type CircuitView, listLimits } from './limits.ts'
import { isHeldByPause, listPaused, type Paused } from './pause.ts'

export type { AttemptRow, AuditRow }

/** The scope of a query. */
export interface TenantScope {
  /** The only tenant whose receipts are visible. Undefined: all tenants. */
  readonly tenant?: string | undefined
}

async function receiptIn(
  { pool, shards }: LedgerTables,
  id: string,
  { tenant }: TenantScope = {},
): Promise<ReceiptRow> {
  const found = await findReceipts(pool, shards, id, tenant)
  return onlyOne(found, { prefix: id, noun: 'receipt', code: 'RECEIPT_UNKNOWN' })
}

/** Finds one receipt by its id, or by a prefix of its id. */
export const receiptById = whereFound((ledger, [id, scope]) => receiptIn(ledger, id, scope), receiptIn)

/** The body of one event, as it was stored. */
export interface ReceiptBody {
  readonly id: string
  readonly tenant: string
  readonly body: Buffer
}

async function bodyIn(ledger: LedgerTables, id: string, scope: TenantScope = {}): Promise<ReceiptBody> {
  const receipt = await openedReceipt(ledger, await receiptById(ledger, id, scope))
  if (receipt.unreadable) throw receipt.unreadable
  if (receipt.bodyExpired || receipt.body === null)
    throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receipt.id} is past its retention`)
  return { id: receipt.id, tenant: receipt.tenant, body: receipt.body }
}

export const readBody = whereFound((ledger, [id, scope]) => receiptIn(ledger, id, scope), bodyIn)

/**
 * A receipt without the headers that hold a provider's secret, and without body and headers past
 * their retention. An encrypted payload is opened.
 */
export interface ReadableReceipt extends Omit<ReceiptRow, StoredOnly> {
  /** The reason why an encrypted payload cannot be read. Body and headers are then null. */
  readonly unreadable: HookonceError | null
}

type StoredOnly = 'shard' | 'sealed' | 'dataKey' | 'isForgotten'

/** The whole chain of one event, from its deliveries to its messages. */
export interface EventChain {
  readonly receipt: ReadableReceipt
  /** Whether the provider's API listed the event, and no signature was checked. */
  readonly reconciled: boolean
  /** Whether another system had processed the event before hookonce took over. */
  readonly imported: boolean
  readonly deliveries: Deliveries
  readonly jobs: readonly ChainJob[]
  readonly attempts: readonly AttemptRow[]
  /** The finished work of the jobs' current epochs, with its time. */
  readonly steps: readonly ChainStep[]
  /** Effects whose last call was made by a job of this receipt. */
  readonly effects: readonly ChainEffect[]
  /** Messages of the jobs' current epochs, as far as the outbox still holds them. */
  readonly messages: readonly ChainMessage[]
  readonly decisions: readonly AuditRow[]
  /** The pauses of its source or its subscribers. */
  readonly paused: readonly Paused[]
  /** The ledger's time of the read. Compare due times with it. */
  readonly asOf: Date
}

export interface Deliveries {
  /** Zero if the event was reconciled or imported, and no delivery arrived. */
  readonly count: number
  readonly firstAt: Date
  /** The arrival of the first further delivery. Null: there was none. */
  readonly firstRepeatAt: Date | null
  readonly lastAt: Date
  /** Deliveries whose body differs from the first. */
  readonly mismatches: number
}

export interface ChainJob extends JobRow {
  /** Whether the job waits because its source or its subscriber is paused. */
  readonly held: boolean
  /** The circuit of the job, if the job waits because the circuit is not closed. */
  readonly circuit: CircuitView | null
  /** Steps, transactions and writes of its current epoch that are done. */
  readonly steps: readonly string[]
}

export interface ChainStep {
  readonly subscriber: string
  readonly name: string
  readonly at: Date
}

export type ChainEffect = Omit<EffectStory, 'subscriberId'>

export type ChainMessage = PublishedMessage & { readonly subscriber: string }

async function eventIn(ledger: LedgerTables, id: string, scope: TenantScope = {}): Promise<EventChain> {
  const found = await receiptById(ledger, id, scope)
  const receipt = await openedReceipt(ledger, found)
  const history = await receiptHistory(ledger.pool, ledger.shards, found)
  const records = await jobRecords(ledger, found)
  const paused = await listPaused(ledger, receipt)
  const circuits = (await listLimits(ledger)).filter(
    ({ tenant, source, circuit }) =>
      tenant === receipt.tenant && source === receipt.source && circuit && circuit.state !== 'closed',
  )
  const { duplicates, jobs, attempts, decisions } = history
  const reconciled = receipt.secret === NO_SECRET
  const imported = receipt.secret === IMPORTED
  return {
    receipt: readable(receipt),
    reconciled,
    imported,
    deliveries: {
      count: (reconciled || imported ? 0 : 1) + (duplicates?.count ?? 0),
      firstAt: receipt.receivedAt,
      firstRepeatAt: duplicates?.firstAt ?? null,
      lastAt: duplicates?.lastAt ?? receipt.receivedAt,
      mismatches: duplicates?.mismatches ?? 0,
    },
    jobs: jobs.map((job) => ({
      ...job,
      held: paused.some((one) => isHolding(one, job)),
      circuit: isHeldByPause(job.state)
        ? (circuits.find(({ subscriber }) => subscriber === job.subscriber)?.circuit ?? null)
        : null,
      steps: records.find(({ name }) => name === job.subscriber)?.steps ?? [],
    })),
    attempts,
    steps: records.flatMap((record) => stepsOf(record, jobs)),
    effects: history.effects.map(({ subscriberId: _, ...effect }) => effect),
    messages: records.flatMap(({ name, messages }) =>
      messages.map((message) => ({ ...message, subscriber: name })),
    ),
    decisions,
    paused,
    asOf: await ledgerClock(ledger.pool),
  }
}

/** Reads the whole chain of the event whose receipt has this id, or an id that begins with it. */
export const readEvent = whereFound((ledger, [id, scope]) => receiptIn(ledger, id, scope), eventIn)

/** A step whose commit completed its job has the job's time. */
function stepsOf({ name: subscriber, steps, timedSteps }: JobRecord, jobs: readonly JobRow[]): ChainStep[] {
  const finishedAt = jobs.find((job) => job.subscriber === subscriber)?.finishedAt
  return steps.flatMap((name) => {
    const at = timedSteps.find((step) => step.name === name)?.at ?? finishedAt
    return at ? [{ subscriber, name, at }] : []
  })
}

/** Whether this pause holds the job. */
export function isHolding({ subscriber }: Paused, job: Pick<JobRow, 'state' | 'subscriber'>): boolean {
  return isHeldByPause(job.state) && (subscriber === null || subscriber === job.subscriber)
}

/** The receipt with its payload decrypted. */
async function openedReceipt(
  { pool, vault = openVault(pool, []) }: LedgerTables,
  row: ReceiptRow,
): Promise<ReadableReceipt> {
  const { shard: _, sealed, dataKey, isForgotten: __, ...receipt } = row
  if (sealed === null || dataKey === null || row.bodyExpired) return { ...receipt, unreadable: null }
  const [payload] = await vault.open([{ receiptId: row.id, dataKey, bytes: sealed }])
  if (payload === undefined) throw new Error(`the payload of receipt ${row.id} was not opened`)
  if (payload instanceof HookonceError) return { ...receipt, unreadable: payload }
  const { headers, body } = payload
  // The stored hash is keyed, so it is useless to a reader who has the body.
  return { ...receipt, headers, body, bodySha256: hash('sha256', body, 'hex'), unreadable: null }
}

/**
 * The provider of the source is unknown here, so the secret headers of all providers in the
 * catalogue are omitted.
 */
function readable(receipt: ReadableReceipt): ReadableReceipt {
  if (receipt.bodyExpired) return { ...receipt, headers: null, body: null }
  if (receipt.headers === null) return receipt
  const withholds = (name: string): boolean => SECRET_HEADERS.has(name.toLowerCase())
  return { ...receipt, headers: withoutSecrets(receipt.headers, { withholds }) }
}
