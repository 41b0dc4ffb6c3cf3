import { WITH_DURABLE } from '../../sql/durable.ts'
import {
  type AcceptStatement,
  frameOf,
  JOBS,
  type Parameter,
  PLAIN_PAYLOAD,
  RECEIPT,
  SEALED_PAYLOAD,
} from './accept-parameters.ts'

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

/**
 * A job is born leased only while its worker is alive, neither subscriber nor source is paused, and
 * the subscriber's circuit is closed.
 */
export const runnableBy = (worker: string): string => `select s.id
       from ledger.subscriber s
       join ledger.source o on o.tenant = s.tenant and o.name = s.source
       where s.paused_at is null and s.held_at is null and o.paused_at is null
         and exists (select from ledger.worker w where w.id = ${worker} and w.dead_at is null)`

/** The columns of a new job from `state` on. It is leased if its subscriber is in `u`. */
export const stateFor = (
  worker: string,
): string => `(case when u.id is null then 'received' else 'processing' end)::ledger.job_state,
         case when u.id is not null then ${worker} end,
         case when u.id is null then 0 else 1 end,
         case when u.id is null then 0 else 1 end,
         case when u.id is not null then now() end`

/** The statements for one kind of payload. */
interface AcceptStatements {
  /** For a process without a worker: all jobs are left to other processes. */
  readonly plain: AcceptStatement
  readonly leased: AcceptStatement
  readonly inOrder: AcceptStatement
}

function acceptStatements(name: string, payload: Record<string, Parameter>): AcceptStatements {
  const frame = frameOf({ ...RECEIPT, ...payload, ...JOBS })
  const { at, columns } = frame
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
    return frame.statement(
      name + suffix,
      `with ${WITH_DURABLE}, ${guard.before}recorded as (
     insert into ledger.receipt
       (${frame.into})
     select ${frame.from}
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
      { only: 'plain' },
    )
  }

  const runnable = `runnable as materialized (
       ${runnableBy(at.worker)}
     )`
  const state = stateFor(at.worker)

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
    '_in_order',
    `${runnable}, placed as materialized (
       select r.shard, r.id as receipt_id, j.subscriber, j.born, j.lane,
         row_number() over (partition by j.lane order by j.place) as number
       from recorded r
       join unnest(${at.jobReceipts}, ${at.jobSubscribers}, ${at.bornLeased}, ${at.orderKeys}, ${at.places})
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
