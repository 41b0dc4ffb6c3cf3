import { WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { type Queryable, rows, type Statement, statement } from '../driver/statement.ts'

/** A receipt to be recorded. */
export interface NewReceipt {
  readonly id: string
  readonly shard: number
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly secret: number
  readonly headers: string
  readonly body: Uint8Array
  /** How long the key is kept. An older receipt with this key has expired, swept or not. */
  readonly keySeconds: number
}

/** A receipt and its new jobs. */
export interface NewWork {
  readonly receipt: NewReceipt
  readonly jobs: readonly NewJob[]
}

export interface NewJob {
  readonly subscriber: number
  /** Asks for the job to be born leased to the worker of this process. */
  readonly bornLeased: boolean
  /** The id of its order key, if its subscriber is ordered. Such a job waits for its turn. */
  readonly lane?: string | undefined
}

/** A batch, taken apart for its parameters. */
interface Batch {
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
 * The parameters of all accept statements, in the order of their numbers. A new column of the
 * receipt is one more line here: the insert, the numbers and the values follow. Put it before
 * `worker`: each statement is sent the parameters up to the last one that its text names.
 */
const PARAMETERS = {
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
  headers: column('text', ({ receipts }) => binary.texts(receipts.map((r) => r.headers))),
  tenants: { type: 'text[]', encode: ({ sources }) => binary.texts(sources.map((r) => r.tenant)) },
  sources: { type: 'text[]', encode: ({ sources }) => binary.texts(sources.map((r) => r.source)) },
  body: column('bytea', ({ receipts }) => binary.byteas(receipts.map((r) => r.body))),
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

/** Each parameter as it stands in a text: `$1::smallint[]`. */
const at = Object.fromEntries(
  Object.entries<Parameter>(PARAMETERS).map(([name, { type }], index) => [name, `$${index + 1}::${type}`]),
) as Readonly<Record<keyof typeof PARAMETERS, string>>

type ParameterName = keyof typeof PARAMETERS
const names = Object.keys(PARAMETERS) as ParameterName[]
const columns = names.filter((name) => 'isColumn' in PARAMETERS[name])
/** A receipt's row points to its tenant and source, which are sent once per batch. */
const columnsInto = columns.map((name) => (name === 'source' ? 'tenant, source' : name)).join(', ')
const columnsFrom = columns
  .map((name) => (name === 'source' ? `(${at.tenants})[source], (${at.sources})[source]` : name))
  .join(', ')

interface AcceptStatement extends Statement {
  readonly parameters: readonly Parameter[]
}

/*
 * Accept: receipts and their jobs in one statement, one round trip, one sync.
 * - The statement itself demands a durable commit, because the acknowledgement follows its commit.
 * - Returns only the exceptions, so a batch of new events returns no rows. It does not look for
 *   exceptions either unless there are some: for a small batch, starting a larger plan costs more
 *   than inserting the rows.
 */
function accept(name: string, brought: string, others = ''): AcceptStatement {
  const { name: preparedName, text } = statement(
    name,
    `with ${WITH_DURABLE}, recorded as (
     insert into hookonce.receipt
       (${columnsInto})
     select ${columnsFrom}
     from durable
     cross join unnest(${columns.map((column) => at[column]).join(', ')})
       i(${columns.join(', ')})
     on conflict (shard, id) do nothing
     returning shard, id
   ), ${brought}
   )
   select i.id, null::integer as held from unnest(${at.id}) i(id)
   where (select count(*) from recorded) < cardinality(${at.id})
     and not exists (select from recorded r where r.id = i.id)${others}`,
  )
  const used = names.filter((parameter) => text.includes(at[parameter]))
  const last = names.indexOf(used.at(-1) ?? 'shards')
  return { name: preparedName, text, parameters: names.slice(0, last + 1).map((each) => PARAMETERS[each]) }
}

/** For a process without a worker: all jobs are left to other processes. */
const ACCEPT = accept(
  'accept',
  `brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state)
     select r.shard, r.id, j.subscriber, 'received'
     from recorded r
     join unnest(${at.jobReceipts}, ${at.jobSubscribers}) j(receipt_id, subscriber) on j.receipt_id = r.id`,
)

/*
 * A job is born leased only while its worker is alive and neither subscriber nor source is paused.
 */
const RUNNABLE = `runnable as materialized (
     select s.id
     from hookonce.subscriber s
     join hookonce.source o on o.tenant = s.tenant and o.name = s.source
     where s.paused_at is null and o.paused_at is null
       and exists (select from hookonce.worker w where w.id = ${at.worker} and w.dead_at is null)
   )`

const STATE = `(case when u.id is null then 'received' else 'processing' end)::hookonce.job_state,
       case when u.id is not null then ${at.worker} end,
       case when u.id is null then 0 else 1 end,
       case when u.id is null then 0 else 1 end,
       case when u.id is not null then now() end`

const HELD = `
   union all
   select b.receipt_id, b.subscriber from brought b where b.state = 'received' and ${at.worker} is not null`

const ACCEPT_LEASED = accept(
  'accept_leased',
  `${RUNNABLE}, brought as (
     insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
     select r.shard, r.id, j.subscriber, ${STATE}
     from recorded r
     join unnest(${at.jobReceipts}, ${at.jobSubscribers}, ${at.bornLeased}) j(receipt_id, subscriber, born) on j.receipt_id = r.id
     left join runnable u on j.born and u.id = j.subscriber
     returning receipt_id, subscriber, state`,
  HELD,
)

/*
 * Jobs with an order key are numbered in the order of arrival, under the lock of their key's row
 * in `hookonce.lane`.
 */
const ACCEPT_IN_ORDER = accept(
  'accept_in_lanes',
  `${RUNNABLE}, placed as materialized (
     select r.shard, r.id as receipt_id, j.subscriber, j.born, j.lane,
       row_number() over (partition by j.lane order by j.place) as number
     from recorded r
     join unnest(${at.jobReceipts}, ${at.jobSubscribers}, ${at.bornLeased}, ${at.lanes}, ${at.places})
       j(receipt_id, subscriber, born, lane, place) on j.receipt_id = r.id
   ), lanes as (
     insert into hookonce.lane as l (shard, id, seq, added)
     select (get_byte(uuid_send(lane), 0) % ${at.shards})::smallint, lane,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint + count(*), count(*)
     from placed where lane is not null group by lane order by lane
     on conflict (shard, id) do update set seq = l.seq + excluded.added, added = excluded.added
     returning id, seq, added
   ), brought as (
     insert into hookonce.job
       (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at, due_at, lane, lane_seq)
     select p.shard, p.receipt_id, p.subscriber, ${STATE},
       case when p.lane is null then now() else 'infinity' end, p.lane, l.seq - l.added + p.number
     from placed p
     left join lanes l on l.id = p.lane
     left join runnable u on p.born and u.id = p.subscriber
     returning receipt_id, subscriber, state`,
  HELD,
)

/** A receipt or a job of the batch that is an exception. */
export interface Unusual {
  readonly id: string
  /** The subscriber whose job was not born leased; null: the receipt already existed. */
  readonly held: number | null
}

/** Inserts a batch, which holds each id once. Returns only the exceptions. */
export function insertReceipts(
  db: Queryable,
  batch: readonly NewWork[],
  { worker, shards }: { readonly worker: number | undefined; readonly shards: number },
): Promise<Unusual[]> {
  const accepting = hasOrder(batch) ? ACCEPT_IN_ORDER : worker === undefined ? ACCEPT : ACCEPT_LEASED
  const parts = takeApart(batch, { worker, shards })
  return rows(
    db,
    accepting,
    accepting.parameters.map(({ encode }) => encode(parts)),
  )
}

// Two receivers with the same events in their batches wait for each other's rows. If both insert in
// the same order, they cannot deadlock.
function byId(a: NewWork, b: NewWork): number {
  return a.receipt.id < b.receipt.id ? -1 : 1
}

function takeApart(arrived: readonly NewWork[], context: Pick<Batch, 'worker' | 'shards'>): Batch {
  const sorted = arrived.toSorted(byId)
  const sources = new Map<string, { position: number; receipt: NewReceipt }>()
  const positions: number[] = []
  const jobs: NewJob[] = []
  const jobReceipts: string[] = []
  for (const work of sorted) {
    const { receipt } = work
    const name = `${receipt.tenant}\n${receipt.source}`
    const source = sources.get(name) ?? { position: sources.size + 1, receipt }
    if (source.receipt === receipt) sources.set(name, source)
    positions.push(source.position)
    for (const job of work.jobs) {
      jobs.push(job)
      jobReceipts.push(receipt.id)
    }
  }
  return {
    ...context,
    arrived,
    receipts: sorted.map(({ receipt }) => receipt),
    sources: [...sources.values()].map(({ receipt }) => receipt),
    positions,
    jobs,
    jobReceipts,
  }
}

function hasOrder(batch: readonly NewWork[]): boolean {
  return batch.some(({ jobs }) => jobs.some(({ lane }) => lane !== undefined))
}

/** Each job's place in the order of arrival. */
function placesOf({ arrived, jobReceipts }: Batch): number[] {
  const places = new Map(arrived.map(({ receipt }, place) => [receipt.id, place]))
  return jobReceipts.map((id) => places.get(id) ?? 0)
}
