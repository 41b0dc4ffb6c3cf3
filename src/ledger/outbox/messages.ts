import { changeAll, isDistributed, NOT_PUSHED, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * The messages of the outbox. Each waits in a lane (see lanes.ts) until it is published or fails.
 */

/** A message that is committed with its business write. */
export interface NewMessage {
  readonly shard: number
  readonly id: string
  readonly lane: string
  readonly tenant: string
  readonly topic: string
  readonly key: string | null
  /** As JSON. */
  readonly payload: string
  readonly headers: Readonly<Record<string, string>> | null
  readonly receiptId: string
  readonly subscriber: number
}

/*
 * Adds messages at the end of their lanes.
 * - Every statement that adds to lanes or settles them locks them in key order: no deadlocks.
 * - Places are counted in the lane's row, under its lock: the order of places is the order of
 *   commits.
 * - A message whose id exists already is the same message, and is not added again. Its place stays
 *   empty, which is harmless.
 * - The only parameter is JSON, so that it can be sent through any library's transaction. A payload
 *   is a string in it: as nested JSON it must not contain escaped NULs.
 */
const ADD_MESSAGES = statement(
  'add_messages',
  `with given as materialized (
     select m.*, count(*) over (partition by shard, lane) as many,
       row_number() over (partition by shard, lane order by n) as place
     from json_to_recordset($1::json) m(n integer, shard smallint, id uuid, lane uuid, receipt_id uuid,
       subscriber integer, tenant text, topic text, key text, headers json, payload text)
   ), lanes as (
     insert into ledger.outbox_lane as l (shard, id, topic, tail)
     select shard, lane, min(topic), count(*) from given group by shard, lane order by shard, lane
     on conflict (shard, id) do update set tail = l.tail + excluded.tail
     returning shard, id, tail
   )
   insert into ledger.outbox (shard, id, lane, seq, receipt_id, subscriber, tenant, topic, key, headers, payload)
   select g.shard, g.id, g.lane, l.tail - g.many + g.place, g.receipt_id, g.subscriber, g.tenant, g.topic, g.key,
     g.headers, g.payload::json
   from given g join lanes l on l.shard = g.shard and l.id = g.lane
   on conflict (shard, id) do nothing`,
  { only: 'plain' },
)

/* The same as two statements: see driver/shapes.ts. */
const EXTEND_LANES = statement(
  'extend_outbox_lanes',
  `insert into ledger.outbox_lane as l (shard, id, topic, tail)
   select m.shard, m.lane, min(m.topic), count(*)
   from json_to_recordset($1::json) m(shard smallint, lane uuid, topic text)
   group by m.shard, m.lane order by m.shard, m.lane
   on conflict (shard, id) do update set tail = l.tail + excluded.tail`,
)

/* The lanes are locked, so their tails are those of EXTEND_LANES. */
const ADD_TO_LANES = statement(
  'add_to_outbox_lanes',
  `insert into ledger.outbox (shard, id, lane, seq, receipt_id, subscriber, tenant, topic, key, headers, payload)
   select g.shard, g.id, g.lane, l.tail - g.many + g.place, g.receipt_id, g.subscriber, g.tenant, g.topic, g.key,
     g.headers, g.payload::json
   from (
     select m.*, count(*) over (partition by shard, lane) as many,
       row_number() over (partition by shard, lane order by n) as place
     from json_to_recordset($1::json) m(n integer, shard smallint, id uuid, lane uuid, receipt_id uuid,
       subscriber integer, tenant text, topic text, key text, headers json, payload text)
   ) g
   join ledger.outbox_lane l on l.shard = g.shard and l.id = g.lane
   where ${NOT_PUSHED}
   on conflict (shard, id) do nothing`,
)

/** Call it inside the transaction of the business write. */
export async function addMessages(db: Queryable, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return
  const records = messages.map(({ receiptId, ...message }, n) => ({ n, receipt_id: receiptId, ...message }))
  const values = [JSON.stringify(records)]
  if (isDistributed(db)) {
    await changeAll(db, [
      [EXTEND_LANES, values],
      [ADD_TO_LANES, values],
    ])
  } else await change(db, ADD_MESSAGES, values)
}

/** A message that waits to be published. */
export interface WaitingMessage {
  readonly id: string
  readonly lane: string
  readonly seq: number
  readonly receiptId: string
  readonly tenant: string
  readonly topic: string
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>> | null
  /** The payload as JSON. */
  readonly body: string
  readonly createdAt: Date
  /** Milliseconds since it was committed, or replayed. */
  readonly ageMs: number
}

const FIRST_WAITING = statement(
  'first_waiting_messages',
  `select m.id, m.lane, m.seq::float8 as seq, m.receipt_id as "receiptId", m.tenant, m.topic, m.key, m.headers,
     m.payload::text as body, m.created_at as "createdAt",
     (extract(epoch from now() - m.born_at) * 1000)::float8 as "ageMs"
   from unnest($2::uuid[]) k(lane)
   cross join lateral (
     select * from ledger.outbox w
     where w.shard = $1::smallint and w.lane = k.lane and w.state = 'waiting'
     order by w.seq limit $3::integer
   ) m
   order by m.lane, m.seq`,
)

export interface WaitingQuestion {
  readonly shard: number
  readonly lanes: readonly string[]
  /** Per lane. */
  readonly limit: number
}

/** The first messages of some lanes, in order. */
export async function firstWaiting(
  db: Queryable,
  { shard, lanes, limit }: WaitingQuestion,
): Promise<WaitingMessage[]> {
  return rows(db, FIRST_WAITING, [shard, lanes, limit])
}

/*
 * Replay: a finished message waits again, under its old id, at the end of its lane. Later messages
 * that are already published cannot be taken back.
 */
const REPLAY_MESSAGES = statement(
  'replay_messages',
  `with finished as materialized (
     select m.id, m.lane, m.topic, row_number() over (partition by m.lane order by m.seq) as place,
       count(*) over (partition by m.lane) as many
     from (
       select id, lane, topic, seq from ledger.outbox
       where shard = $1::smallint and id = any($2::uuid[]) and state = any($3::ledger.message_state[])
       for update
     ) m
   ), lanes as (
     insert into ledger.outbox_lane as l (shard, id, topic, tail)
     select $1::smallint, lane, min(topic), count(*) from finished group by lane order by lane
     on conflict (shard, id) do update set tail = l.tail + excluded.tail
     returning id, tail
   )
   update ledger.outbox m
   set state = 'waiting', seq = l.tail - f.many + f.place, born_at = now(), finished_at = null, attempts = 0, reason = null
   from finished f join lanes l on l.id = f.lane
   where m.shard = $1::smallint and m.id = f.id`,
  { only: 'plain' },
)

/* The same as three statements: see driver/shapes.ts. */
const LOCK_FINISHED = statement(
  'lock_finished_messages',
  `select id, lane, topic from ledger.outbox
   where shard = $1::smallint and id = any($2::uuid[]) and state = any($3::ledger.message_state[])
   order by lane, outbox.seq
   for update`,
)

const WAIT_AGAIN = statement(
  'wait_again',
  `update ledger.outbox m
   set state = 'waiting', seq = l.tail - f.many + f.place, born_at = now(), finished_at = null, attempts = 0, reason = null
   from (
     select g.*, count(*) over (partition by lane) as many, row_number() over (partition by lane order by n) as place
     from json_to_recordset($2::json) g(n integer, id uuid, lane uuid)
   ) f
   join ledger.outbox_lane l on l.shard = $1::smallint and l.id = f.lane
   where m.shard = $1::smallint and m.id = f.id`,
)

function replayDistributed(db: Queryable, { shard, ids, states }: MessageReplay): Promise<number> {
  return together(db, async (client) => {
    const found = await rows<FinishedMessage>(client, LOCK_FINISHED, [shard, ids, states])
    if (found.length === 0) return 0
    const given = JSON.stringify(found.map((message, n) => ({ ...message, n, shard })))
    await change(client, EXTEND_LANES, [given])
    return change(client, WAIT_AGAIN, [shard, given])
  })
}

interface FinishedMessage {
  readonly id: string
  readonly lane: string
  readonly topic: string
}

export interface MessageReplay {
  readonly shard: number
  readonly ids: readonly string[]
  readonly states: readonly ('published' | 'failed')[]
}

/** Returns how many messages wait again. */
export async function replayMessages(db: Queryable, replay: MessageReplay): Promise<number> {
  if (isDistributed(db)) return replayDistributed(db, replay)
  const { shard, ids, states } = replay
  return change(db, REPLAY_MESSAGES, [shard, ids, states])
}

const SWEEP_MESSAGES = statement(
  'sweep_messages',
  `with due as materialized (
     select ctid as at from ledger.outbox
     where shard = $1::smallint and state <> 'waiting' and finished_at <= now() - $2::float8 * interval '1 millisecond'
     order by finished_at limit $3::integer
     for update skip locked
   )
   delete from ledger.outbox m where m.shard = $1::smallint and m.ctid = any(array(select at from due))`,
)

export interface MessageSweep {
  readonly shard: number
  readonly keepMs: number
  readonly limit: number
}

/** Returns how many finished messages were deleted. */
export async function sweepMessages(db: Queryable, { shard, keepMs, limit }: MessageSweep): Promise<number> {
  return change(db, SWEEP_MESSAGES, [shard, keepMs, limit])
}

const COUNT_MESSAGES = statement(
  'count_messages',
  `select count(*)::integer as count from (
   select from ledger.outbox
   where shard = $1::smallint and state <> 'waiting' and finished_at <= now() - $2::float8 * interval '1 millisecond'
   limit $3::integer) due`,
)

/** How many finished messages a sweep would delete, up to `limit`. */
export async function countMessages(db: Queryable, { shard, keepMs, limit }: MessageSweep): Promise<number> {
  const [row] = await rows<{ count: number }>(db, COUNT_MESSAGES, [shard, keepMs, limit])
  return row?.count ?? 0
}
