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

/** One receipt with at most one job. */
export interface LoneWork {
  readonly receipt: NewReceipt
  readonly job: NewJob | undefined
  readonly worker: number | undefined
}

/** A parameter of the statements for a batch, or for a lone receipt. */
export interface Parameter<Source = Batch> {
  readonly type: string
  readonly encode: (source: Source) => unknown
}

/** A column of the receipt: a batch sends an array with one element per receipt. */
export interface Column extends Parameter {
  readonly isColumn: true
  /** How a lone receipt sends it. */
  readonly lone?: Parameter<LoneWork>
}

/** How a type is sent: the values of a batch as one array, the value of a lone receipt alone. */
interface Encoding<Value> {
  readonly type: string
  readonly array: (values: readonly Value[]) => Buffer
  readonly scalar: (value: Value) => unknown
}

const asItIs = <Value>(value: Value): Value => value

const SMALLINT: Encoding<number> = { type: 'smallint', array: binary.smallints, scalar: asItIs }
const INTEGER: Encoding<number> = { type: 'integer', array: binary.integers, scalar: asItIs }
const UUID: Encoding<string> = { type: 'uuid', array: binary.uuids, scalar: asItIs }
const BYTEA: Encoding<Uint8Array> = { type: 'bytea', array: binary.byteas, scalar: asItIs }
const TEXT: Encoding<string | undefined> = {
  type: 'text',
  array: binary.texts,
  scalar: (value) => (value === undefined ? null : binary.withoutNul(value)),
}
const TIMESTAMPTZ: Encoding<number | undefined> = {
  type: 'timestamptz',
  array: binary.timestamps,
  scalar: (value) => (value === undefined ? null : binary.timestamp(value)),
}

function column<Value>(
  { type, array, scalar }: Encoding<Value>,
  read: (receipt: NewReceipt) => Value,
): Column {
  return {
    type: `${type}[]`,
    encode: ({ receipts }) => array(receipts.map(read)),
    isColumn: true,
    lone: { type, encode: ({ receipt }) => scalar(read(receipt)) },
  }
}

/*
 * The parameters of the accept statements, in the order of their numbers. A new column of the
 * receipt is one more line in RECEIPT: the inserts, the numbers and the values follow. Each
 * statement is sent the parameters up to the last one that its text names.
 */
export const RECEIPT = {
  shard: column(SMALLINT, ({ shard }) => shard),
  id: column(UUID, ({ id }) => id),
  source: {
    type: 'smallint[]',
    encode: ({ positions }: Batch) => binary.smallints(positions),
    isColumn: true,
  },
  event_key: column(TEXT, ({ eventKey }) => eventKey),
  event_type: column(TEXT, ({ eventType }) => eventType),
  object_id: column(TEXT, ({ objectId }) => objectId),
  occurred_at: column(TIMESTAMPTZ, ({ occurredAtMs }) => occurredAtMs),
  secret: column(SMALLINT, ({ secret }) => secret),
  tenants: { type: 'text[]', encode: ({ sources }: Batch) => binary.texts(sources.map((r) => r.tenant)) },
  sources: { type: 'text[]', encode: ({ sources }: Batch) => binary.texts(sources.map((r) => r.source)) },
} satisfies Record<string, Parameter | Column>

export const PLAIN_PAYLOAD = {
  headers: column(TEXT, ({ headers }) => headers),
  body: column(BYTEA, ({ body }) => body),
} satisfies Record<string, Column>

export const SEALED_PAYLOAD = {
  sealed: column(BYTEA, (receipt) => sealOf(receipt).bytes),
  data_key: column(INTEGER, (receipt) => sealOf(receipt).dataKey),
  body_sha256: column(BYTEA, keyedHashOf),
} satisfies Record<string, Column>

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

function isColumn(parameter: Parameter | Column | undefined): parameter is Column {
  return parameter !== undefined && 'isColumn' in parameter
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

export function frameOf(parameters: Readonly<Record<string, Parameter | Column>>): Frame {
  const names = Object.keys(parameters)
  const at = Object.fromEntries(
    Object.entries(parameters).map(([each, { type }], index) => [each, `$${index + 1}::${type}`]),
  ) as Frame['at']
  const columns = names.filter((each) => isColumn(parameters[each]))
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
