import * as binary from '../driver/binary.ts'
import { type Statement, statement } from '../driver/statement.ts'
import type { NewJob, NewReceipt, NewWork, ReceiptSeal } from './new-work.ts'

/** A batch, taken apart for its parameters. */
export interface Batch {
  readonly arrived: readonly NewWork[]
  readonly receipts: readonly NewReceipt[]
  /** One receipt of each tenant and source in the batch. */
  readonly sources: readonly NewReceipt[]
  /** For each receipt, the position of its tenant and source in `sources`, from 1. */
  readonly positions: readonly number[]
  readonly jobs: readonly NewJob[]
  /** For each job, the id of its receipt. */
  readonly jobReceipts: readonly string[]
  readonly worker: number | undefined
  readonly shards: number
  /** The time of the transaction, for statements that do not call now(). */
  readonly now?: string
}

export interface Parameter {
  readonly type: string
  readonly encode: (batch: Batch) => unknown
  /** An array with one element per receipt, inserted into the column of this name. */
  readonly isColumn?: true
}

function column(type: string, encode: Parameter['encode']): Parameter {
  return { type: `${type}[]`, encode, isColumn: true }
}

/*
 * The parameters of the accept statements, in the order of their numbers. A new column of the
 * receipt is one more line in RECEIPT: the inserts, the numbers and the values follow. Each
 * statement is sent the parameters up to the last one that its text names.
 */
export const RECEIPT = {
  shard: column('smallint', ({ receipts }) => binary.smallints(receipts.map((r) => r.shard))),
  id: column('uuid', ({ receipts }) => binary.uuids(receipts.map((r) => r.id))),
  source: column('smallint', ({ positions }) => binary.smallints(positions)),
  event_key: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.eventKey))),
  event_type: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.eventType))),
  object_id: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.objectId))),
  occurred_at: column('timestamptz', ({ receipts }) =>
    binary.timestamps(receipts.map((r) => r.occurredAtMs)),
  ),
  secret: column('smallint', ({ receipts }) => binary.smallints(receipts.map((r) => r.secret))),
  tenants: { type: 'text[]', encode: ({ sources }) => binary.texts(sources.map((r) => r.tenant)) },
  sources: { type: 'text[]', encode: ({ sources }) => binary.texts(sources.map((r) => r.source)) },
} satisfies Record<string, Parameter>

export const PLAIN_PAYLOAD = {
  headers: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.headers))),
  body: column('bytea', ({ receipts }) => binary.byteas(receipts.map((r) => r.body))),
} satisfies Record<string, Parameter>

export const SEALED_PAYLOAD = {
  sealed: column('bytea', ({ receipts }) => binary.byteas(receipts.map((r) => sealOf(r).bytes))),
  data_key: column('integer', ({ receipts }) => binary.integers(receipts.map((r) => sealOf(r).dataKey))),
  body_sha256: column('bytea', ({ receipts }) => binary.byteas(receipts.map(keyedHashOf))),
} satisfies Record<string, Parameter>

export const JOBS = {
  jobReceipts: { type: 'uuid[]', encode: ({ jobReceipts }) => binary.uuids(jobReceipts) },
  jobSubscribers: {
    type: 'integer[]',
    encode: ({ jobs }) => binary.integers(jobs.map((job) => job.subscriber)),
  },
  worker: { type: 'integer', encode: ({ worker }) => worker ?? null },
  bornLeased: { type: 'boolean[]', encode: ({ jobs }) => binary.booleans(jobs.map((job) => job.bornLeased)) },
  orderKeys: { type: 'uuid[]', encode: ({ jobs }) => binary.uuids(jobs.map((job) => job.orderKey)) },
  places: { type: 'integer[]', encode: (batch) => binary.integers(placesOf(batch)) },
  shards: { type: 'integer', encode: ({ shards }) => shards },
} satisfies Record<string, Parameter>

function sealOf({ id, seal }: NewReceipt): ReceiptSeal {
  if (!seal) throw new Error(`receipt ${id} is not sealed, but others of its batch are`)
  return seal
}

function keyedHashOf({ id, keyedHash }: NewReceipt): Uint8Array {
  if (!keyedHash) throw new Error(`receipt ${id} is sealed, but its body is not hashed`)
  return keyedHash
}

/** Each job's place in the order of arrival. */
export function placesOf({ arrived, jobReceipts }: Batch): number[] {
  const places = new Map(arrived.map(({ receipt }, place) => [receipt.id, place]))
  return jobReceipts.map((id) => places.get(id) ?? 0)
}

/** The names and places of the parameters for one kind of payload. */
export interface Frame {
  /** Each parameter as it is written in a text: `$1::smallint[]`. */
  readonly at: Readonly<Record<keyof typeof RECEIPT | keyof typeof JOBS, string>> &
    Readonly<Record<string, string | undefined>>
  /** The columns of a receipt that are sent as arrays. */
  readonly columns: readonly string[]
  /** The columns of `ledger.receipt`, and their values from a row `i` of the arrays. */
  readonly into: string
  readonly from: string
  /** Defines a statement, and finds the parameters that it is sent. */
  statement(name: string, text: string, options?: Pick<Statement, 'only'>): AcceptStatement
}

export interface AcceptStatement extends Statement {
  readonly parameters: readonly Parameter[]
}

export function frameOf(parameters: Readonly<Record<string, Parameter>>): Frame {
  const names = Object.keys(parameters)
  const at = Object.fromEntries(
    Object.entries(parameters).map(([each, { type }], index) => [each, `$${index + 1}::${type}`]),
  ) as Frame['at']
  const columns = names.filter((each) => parameters[each]?.isColumn)
  return {
    at,
    columns,
    // A receipt's row points to its tenant and source, which are sent once per batch.
    into: columns.map((each) => (each === 'source' ? 'tenant, source' : each)).join(', '),
    from: columns
      .map((each) => (each === 'source' ? `(${at.tenants})[source], (${at.sources})[source]` : each))
      .join(', '),
    statement(name, text, options) {
      const used = names.filter((each) => text.includes(at[each] ?? ''))
      const last = names.indexOf(used.at(-1) ?? '')
      const sent = names.slice(0, last + 1).flatMap((each) => parameters[each] ?? [])
      return { ...statement(name, text, options), parameters: sent }
    },
  }
}
