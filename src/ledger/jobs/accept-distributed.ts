import { DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { ON_NODE, together } from '../driver/shapes.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import {
  type AcceptStatement,
  type Batch,
  frameOf,
  type Parameter,
  PLAIN_PAYLOAD,
  placesOf,
  RECEIPT,
  SEALED_PAYLOAD,
} from './accept-parameters.ts'
import { runnableBy } from './accept-statements.ts'

/*
 * Accept on a distributed ledger, as up to four statements in one transaction: see
 * driver/shapes.ts. The conditions are those of accept-statements.ts. Times are parameters, because
 * Citus 13 cannot route an INSERT with a SELECT that calls now(): see NOT_PUSHED.
 */

/*
 * Makes the commit on the node of the ledger durable. A SELECT runs there as a whole, so its
 * set_config concerns the connection that commits. The clock numbers the jobs of order keys.
 */
const BEGIN = statement(
  'accept_begin',
  `select ${DURABLE}, (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock, now()::text as now
   from ${ON_NODE}`,
)

/** Returns a data key that was forgotten: see `guardOf`. */
const FORGOTTEN_KEY = statement(
  'accept_forgotten_key',
  `select used.id from unnest($1::integer[]) used(id)
   where not exists (select from ledger.data_key k where k.id = used.id and k.wrapped is not null)
   limit 1`,
)

/** The time of the transaction on the node. */
const NOW: Parameter = { type: 'timestamptz', encode: ({ now }) => now ?? null }

const recording = (name: string, payload: Record<string, Parameter>): AcceptStatement => {
  const frame = frameOf({ ...RECEIPT, ...payload, now: NOW })
  const { at, columns } = frame
  return frame.statement(
    name,
    `insert into ledger.receipt
       (${frame.into}, received_at)
     select ${frame.from}, ${at.now}
     from ${ON_NODE}
     cross join unnest(${columns.map((each) => at[each]).join(', ')})
       i(${columns.join(', ')})
     on conflict (shard, id) do nothing
     returning id`,
  )
}

const RECORD = recording('accept_receipts', PLAIN_PAYLOAD)
const RECORD_SEALED = recording('accept_sealed_receipts', SEALED_PAYLOAD)

const shardOfId = (id: string, shards: string): string =>
  `(get_byte(uuid_send(${id}), 0) % ${shards}::integer)::smallint`

const STATE = 'state, worker, fence, attempt, started_at'
const stateAt = (now: string): string => `case when u.id is null then 'received'::ledger.job_state
       else 'processing'::ledger.job_state end,
     case when u.id is not null then $4::integer end, case when u.id is null then 0 else 1 end,
     case when u.id is null then 0 else 1 end, case when u.id is not null then ${now} end`

const ADD_JOBS = statement(
  'accept_jobs',
  `insert into ledger.job (shard, receipt_id, subscriber, ${STATE}, born_at, due_at)
   select ${shardOfId('j.receipt_id', '$5')}, j.receipt_id, j.subscriber, ${stateAt('$6::timestamptz')},
     $6::timestamptz, $6::timestamptz
   from ${ON_NODE}
   cross join unnest($1::uuid[], $2::integer[], $3::boolean[]) j(receipt_id, subscriber, born)
   left join (${runnableBy('$4::integer')}) u on j.born and u.id = j.subscriber
   returning receipt_id, subscriber, state`,
)

/* Locks the rows of the order keys, in their order, and reserves places. */
const LOCK_ORDER_KEYS = statement(
  'accept_order_keys',
  `insert into ledger.lane as l (shard, id, seq, added)
   select ${shardOfId('lane', '$2')}, lane, $3::bigint + count(*), count(*)
   from ${ON_NODE}
   cross join unnest($1::uuid[]) j(lane)
   where lane is not null group by lane order by lane
   on conflict (shard, id) do update set seq = l.seq + excluded.added, added = excluded.added`,
)

/* The rows of the order keys are locked, so they still hold the places that LOCK_ORDER_KEYS reserved. */
const ADD_JOBS_IN_ORDER = statement(
  'accept_jobs_in_order',
  `insert into ledger.job
     (shard, receipt_id, subscriber, ${STATE}, born_at, due_at, lane, lane_seq)
   select ${shardOfId('p.receipt_id', '$5')}, p.receipt_id, p.subscriber, ${stateAt('$6::timestamptz')},
     $6::timestamptz, case when p.lane is null then $6::timestamptz else 'infinity' end, p.lane, l.seq - l.added + p.number
   from ${ON_NODE}
   cross join (
     select j.*, row_number() over (partition by j.lane order by j.place) as number
     from unnest($1::uuid[], $2::integer[], $3::boolean[], $7::uuid[], $8::integer[])
       j(receipt_id, subscriber, born, lane, place)
   ) p
   left join ledger.lane l on l.shard = ${shardOfId('p.lane', '$5')} and l.id = p.lane
   left join (${runnableBy('$4::integer')}) u on p.born and u.id = p.subscriber
   returning receipt_id, subscriber, state`,
)

/** The exceptions of a batch, as the plain statement returns them. */
interface ExceptionRow {
  readonly id: string | null
  readonly held: number | null
}

interface BatchStart {
  readonly clock: string
  readonly now: string
}

interface AddedJob {
  readonly receipt_id: string
  readonly subscriber: number
  readonly state: string
}

/** Inserts a batch. Returns a row without an id if a data key was forgotten. */
export function acceptDistributed(db: Queryable, batch: Batch): Promise<ExceptionRow[]> {
  return together(db, async (client) => {
    const [start] = await rows<BatchStart>(client, BEGIN)
    if (!start) throw new Error('the ledger has no setting "shards"')
    const keys = new Set(batch.receipts.flatMap(({ seal }) => seal?.dataKey ?? []))
    if (keys.size > 0 && (await rows(client, FORGOTTEN_KEY, [binary.integers([...keys])])).length > 0)
      return [{ id: null, held: null }]
    const recording = batch.receipts[0]?.seal ? RECORD_SEALED : RECORD
    const recorded = await rows<{ id: string }>(
      client,
      recording,
      recording.parameters.map(({ encode }) => encode({ ...batch, now: start.now })),
    )
    const added = await addJobs(client, onlyOf(batch, new Set(recorded.map(({ id }) => id))), start)
    const held = batch.worker === undefined ? [] : added.filter(({ state }) => state === 'received')
    return [
      ...missingIn(batch, recorded).map((id) => ({ id, held: null })),
      ...held.map(({ receipt_id, subscriber }) => ({ id: receipt_id, held: subscriber })),
    ]
  })
}

function missingIn({ receipts }: Batch, recorded: readonly { readonly id: string }[]): string[] {
  if (recorded.length === receipts.length) return []
  const ids = new Set(recorded.map(({ id }) => id))
  return receipts.map(({ id }) => id).filter((id) => !ids.has(id))
}

/** The batch with only the jobs of receipts that are new. */
function onlyOf(batch: Batch, recorded: ReadonlySet<string>): Batch {
  if (recorded.size === batch.receipts.length) return batch
  const isNew = batch.jobReceipts.map((id) => recorded.has(id))
  return {
    ...batch,
    jobs: batch.jobs.filter((_, index) => isNew[index]),
    jobReceipts: batch.jobReceipts.filter((_, index) => isNew[index]),
  }
}

async function addJobs(client: Queryable, batch: Batch, { clock, now }: BatchStart): Promise<AddedJob[]> {
  const { jobs, jobReceipts, worker, shards } = batch
  if (jobs.length === 0) return []
  const orderKeys = binary.uuids(jobs.map(({ orderKey }) => orderKey))
  const values = [
    binary.uuids(jobReceipts),
    binary.integers(jobs.map(({ subscriber }) => subscriber)),
    binary.booleans(jobs.map(({ bornLeased }) => bornLeased)),
    worker ?? null,
    shards,
    now,
  ]
  if (jobs.every(({ orderKey }) => orderKey === undefined)) return rows<AddedJob>(client, ADD_JOBS, values)
  await rows(client, LOCK_ORDER_KEYS, [orderKeys, shards, clock])
  return rows<AddedJob>(client, ADD_JOBS_IN_ORDER, [...values, orderKeys, binary.integers(placesOf(batch))])
}
