import { WITH_DURABLE } from '../../sql/durable.ts'
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
}

interface Parameter {
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
const RECEIPT = {
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

const PLAIN_PAYLOAD = {
  headers: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.headers))),
  body: column('bytea', ({ receipts }) => binary.byteas(receipts.map((r) => r.body))),
} satisfies Record<string, Parameter>

const SEALED_PAYLOAD = {
  sealed: column('bytea', ({ receipts }) => binary.byteas(receipts.map((r) => sealOf(r).bytes))),
  data_key: column('integer', ({ receipts }) => binary.integers(receipts.map((r) => sealOf(r).dataKey))),
  body_sha256: column('bytea', ({ receipts }) => binary.byteas(receipts.map(keyedHashOf))),
} satisfies Record<string, Parameter>

const JOBS = {
  jobReceipts: { type: 'uuid[]', encode: ({ jobReceipts }) => binary.uuids(jobReceipts) },
  jobSubscribers: {
    type: 'integer[]',
    encode: ({ jobs }) => binary.integers(jobs.map((job) => job.subscriber)),
  },
  worker: { type: 'integer', encode: ({ worker }) => worker ?? null },
  bornLeased: { type: 'boolean[]', encode: ({ jobs }) => binary.booleans(jobs.map((job) => job.bornLeased)) },
  lanes: { type: 'uuid[]', encode: ({ jobs }) => binary.uuids(jobs.map((job) => job.lane)) },
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
function placesOf({ arrived, jobReceipts }: Batch): number[] {
  const places = new Map(arrived.map(({ receipt }, place) => [receipt.id, place]))
  return jobReceipts.map((id) => places.get(id) ?? 0)
}

/** Parts of a statement that check the data keys of sealed payloads. */
interface KeyGuard {
  readonly before: string
  readonly where: string
  readonly after: string
}

const NO_GUARD: KeyGuard = { before: '', where: '', after: '' }

/*
 * A payload must not be recorded under a forgotten data key: it could never be read. If that
 * happens, nothing of the batch is recorded, and the statement returns a row without an id. A key
 * that is forgotten after this snapshot makes this payload unreadable, like any payload recorded
 * before.
 */
const guardOf = (dataKeys: string): KeyGuard => ({
  before: `alive as materialized (
     select not exists (
       select from unnest(${dataKeys}) used(id)
       where not exists (select from ledger.data_key k where k.id = used.id and k.wrapped is not null)
     ) as ok
   ), `,
  where: `
     where (select ok from alive)`,
  after: `
   union all
   select null::uuid, null::integer from alive where not ok`,
})

interface AcceptStatement extends Statement {
  readonly parameters: readonly Parameter[]
}

/** The statements for one kind of payload. */
interface AcceptStatements {
  /** For a process without a worker: all jobs are left to other processes. */
  readonly plain: AcceptStatement
  readonly leased: AcceptStatement
  readonly inOrder: AcceptStatement
}

function acceptStatements(name: string, payload: Record<string, Parameter>): AcceptStatements {
  const parameters: Record<string, Parameter> = { ...RECEIPT, ...payload, ...JOBS }
  const names = Object.keys(parameters)
  /** Each parameter as it is written in a text: `$1::smallint[]`. */
  const at = Object.fromEntries(
    Object.entries(parameters).map(([each, { type }], index) => [each, `$${index + 1}::${type}`]),
  ) as Readonly<Record<keyof typeof RECEIPT | keyof typeof JOBS, string>> & Readonly<Record<string, string>>
  const columns = names.filter((each) => parameters[each]?.isColumn)
  /** A receipt's row points to its tenant and source, which are sent once per batch. */
  const columnsInto = columns.map((each) => (each === 'source' ? 'tenant, source' : each)).join(', ')
  const columnsFrom = columns
    .map((each) => (each === 'source' ? `(${at.tenants})[source], (${at.sources})[source]` : each))
    .join(', ')
  const guard = at.data_key === undefined ? NO_GUARD : guardOf(at.data_key)

  /*
   * Accept: receipts and their jobs in one statement, one round trip, one sync.
   * - The statement itself demands a durable commit, because the acknowledgement follows its
   *   commit.
   * - Returns only the exceptions, so a batch of new events returns no rows. It does not look for
   *   exceptions either unless there are some: for a small batch, starting a larger plan costs more
   *   than inserting the rows.
   */
  function accept(suffix: string, brought: string, others = ''): AcceptStatement {
    const { name: preparedName, text } = statement(
      name + suffix,
      `with ${WITH_DURABLE}, ${guard.before}recorded as (
     insert into ledger.receipt
       (${columnsInto})
     select ${columnsFrom}
     from durable
     cross join unnest(${columns.map((each) => at[each]).join(', ')})
       i(${columns.join(', ')})${guard.where}
     on conflict (shard, id) do nothing
     returning shard, id
   ), ${brought}
   )
   select i.id, null::integer as held from unnest(${at.id}) i(id)
   where (select count(*) from recorded) < cardinality(${at.id})
     and not exists (select from recorded r where r.id = i.id)${others}${guard.after}`,
    )
    const used = names.filter((each) => text.includes(at[each] ?? ''))
    const last = names.indexOf(used.at(-1) ?? 'shards')
    const sent = names.slice(0, last + 1).flatMap((each) => parameters[each] ?? [])
    return { name: preparedName, text, parameters: sent }
  }

  /*
   * A job is born leased only while its worker is alive, neither subscriber nor source is paused,
   * and the subscriber's circuit is closed.
   */
  const runnable = `runnable as materialized (
       select s.id
       from ledger.subscriber s
       join ledger.source o on o.tenant = s.tenant and o.name = s.source
       where s.paused_at is null and s.held_at is null and o.paused_at is null
         and exists (select from ledger.worker w where w.id = ${at.worker} and w.dead_at is null)
     )`

  const state = `(case when u.id is null then 'received' else 'processing' end)::ledger.job_state,
         case when u.id is not null then ${at.worker} end,
         case when u.id is null then 0 else 1 end,
         case when u.id is null then 0 else 1 end,
         case when u.id is not null then now() end`

  const held = `
     union all
     select b.receipt_id, b.subscriber from brought b where b.state = 'received' and ${at.worker} is not null`

  const plain = accept(
    '',
    `brought as (
       insert into ledger.job (shard, receipt_id, subscriber, state)
       select r.shard, r.id, j.subscriber, 'received'
       from recorded r
       join unnest(${at.jobReceipts}, ${at.jobSubscribers}) j(receipt_id, subscriber) on j.receipt_id = r.id`,
  )

  const leased = accept(
    '_leased',
    `${runnable}, brought as (
       insert into ledger.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
       select r.shard, r.id, j.subscriber, ${state}
       from recorded r
       join unnest(${at.jobReceipts}, ${at.jobSubscribers}, ${at.bornLeased}) j(receipt_id, subscriber, born) on j.receipt_id = r.id
       left join runnable u on j.born and u.id = j.subscriber
       returning receipt_id, subscriber, state`,
    held,
  )

  /*
   * Jobs with an order key are numbered in the order of arrival, under the lock of their key's row
   * in `ledger.lane`.
   */
  const inOrder = accept(
    '_in_lanes',
    `${runnable}, placed as materialized (
       select r.shard, r.id as receipt_id, j.subscriber, j.born, j.lane,
         row_number() over (partition by j.lane order by j.place) as number
       from recorded r
       join unnest(${at.jobReceipts}, ${at.jobSubscribers}, ${at.bornLeased}, ${at.lanes}, ${at.places})
         j(receipt_id, subscriber, born, lane, place) on j.receipt_id = r.id
     ), lanes as (
       insert into ledger.lane as l (shard, id, seq, added)
       select (get_byte(uuid_send(lane), 0) % ${at.shards})::smallint, lane,
         (extract(epoch from clock_timestamp()) * 1000000)::bigint + count(*), count(*)
       from placed where lane is not null group by lane order by lane
       on conflict (shard, id) do update set seq = l.seq + excluded.added, added = excluded.added
       returning id, seq, added
     ), brought as (
       insert into ledger.job
         (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at, due_at, lane, lane_seq)
       select p.shard, p.receipt_id, p.subscriber, ${state},
         case when p.lane is null then now() else 'infinity' end, p.lane, l.seq - l.added + p.number
       from placed p
       left join lanes l on l.id = p.lane
       left join runnable u on p.born and u.id = p.subscriber
       returning receipt_id, subscriber, state`,
    held,
  )

  return { plain, leased, inOrder }
}

export const ACCEPT = acceptStatements('accept', PLAIN_PAYLOAD)
export const ACCEPT_SEALED = acceptStatements('accept_sealed', SEALED_PAYLOAD)
