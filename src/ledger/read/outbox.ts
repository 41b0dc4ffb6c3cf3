import { type Queryable, rows, statement } from '../driver/statement.ts'
import { idRange } from './id-prefix.ts'

/* Plain reads of the outbox: they lock nothing and may run on a replica. */

const MESSAGE = `m.id, m.created_at as "createdAt", m.finished_at as "finishedAt", m.tenant, m.topic, m.key,
     m.receipt_id as "receiptId",
     case when l.attempt > 0 and m.seq = first.seq then 'retrying' else m.state::text end as state,
     case when m.state <> 'waiting' then m.attempts when m.seq = first.seq then l.attempt else 0 end as attempts,
     case when m.state <> 'waiting' then m.reason when m.seq = first.seq then l.reason end as reason,
     case when m.seq = first.seq then l.due_at end as "dueAt"`

/* Attempts and errors of the first waiting message of a lane are in the lane's row. */
const IN_LANE = `left join hookonce.outbox_lane l on l.shard = m.shard and l.id = m.lane
   left join lateral (
     select min(w.seq) as seq from hookonce.outbox w
     where w.shard = m.shard and w.lane = m.lane and w.state = 'waiting' and m.state = 'waiting'
   ) first on true`

const LIST_MESSAGES = statement(
  'list_messages',
  `select ${MESSAGE}
   from (
     select latest.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       (select * from hookonce.outbox o
        where o.shard = s.shard and o.state = 'waiting' and 'waiting' = any($3::text[])
          and ($4::text is null or o.topic = $4::text)
        order by o.created_at desc limit $2::integer)
       union all
       (select * from hookonce.outbox o
        where o.shard = s.shard and o.state <> 'waiting' and o.state::text = any($3::text[])
          and ($4::text is null or o.topic = $4::text)
        order by o.finished_at desc limit $2::integer)
     ) latest
     order by latest.created_at desc, latest.id limit $2::integer
   ) m
   ${IN_LANE}
   order by m.created_at desc, m.id`,
)

export interface MessageRow {
  readonly id: string
  readonly createdAt: Date
  readonly finishedAt: Date | null
  readonly tenant: string
  readonly topic: string
  readonly key: string | null
  readonly receiptId: string
  readonly state: 'waiting' | 'retrying' | 'published' | 'failed'
  readonly attempts: number
  readonly reason: string | null
  /** When the first message of its lane may be published. */
  readonly dueAt: Date | null
}

export interface MessageQuestion {
  readonly shards: number
  readonly limit: number
  readonly states: readonly ('waiting' | 'published' | 'failed')[]
  readonly topic?: string | undefined
}

/** The latest messages first. */
export async function listMessages(
  db: Queryable,
  { shards, limit, states, topic }: MessageQuestion,
): Promise<MessageRow[]> {
  return rows(db, LIST_MESSAGES, [shards, limit, states, topic ?? null])
}

/* By the full id or by the beginning of one. */
const FIND_MESSAGES = statement(
  'find_messages',
  `select m.shard, ${MESSAGE}, m.headers, m.payload::text as payload
   from generate_series(0, $1::integer - 1) s(shard)
   join hookonce.outbox m on m.shard = s.shard and m.id between $2::uuid and $3::uuid
   ${IN_LANE}
   limit 2`,
)

export interface FoundMessage extends MessageRow {
  readonly shard: number
  readonly headers: Readonly<Record<string, string>> | null
  /** As JSON. */
  readonly payload: string
}

/** Returns at most two: the second shows that the prefix is ambiguous. */
export async function findMessages(db: Queryable, shards: number, idPrefix: string): Promise<FoundMessage[]> {
  const range = idRange(idPrefix)
  return range ? rows(db, FIND_MESSAGES, [shards, ...range]) : []
}

const MESSAGES_BY_ID = statement(
  'messages_by_id',
  `select m.id, m.topic, m.key, m.state::text as state
   from generate_series(0, $1::integer - 1) s(shard)
   join hookonce.outbox m on m.shard = s.shard and m.id = any($2::uuid[])
   order by m.created_at, array_position($2::uuid[], m.id)`,
)

export type PublishedMessage = Pick<MessageRow, 'id' | 'topic' | 'key'> & { readonly state: string }

/** The messages with these ids that the outbox still holds. */
export async function messagesById(
  db: Queryable,
  shards: number,
  ids: readonly string[],
): Promise<PublishedMessage[]> {
  return rows(db, MESSAGES_BY_ID, [shards, ids])
}

const FAILED_MESSAGES = statement(
  'failed_messages',
  `select m.id from hookonce.outbox m
   where m.shard = $1::smallint and m.state = 'failed' and ($2::text is null or m.topic = $2::text)
   order by m.finished_at limit $3::integer`,
)

export interface FailedMessagesQuestion {
  readonly shard: number
  readonly topic?: string | undefined
  readonly limit: number
}

/** The ids of failed messages, oldest first. */
export async function failedMessages(
  db: Queryable,
  { shard, topic, limit }: FailedMessagesQuestion,
): Promise<string[]> {
  const found = await rows<{ id: string }>(db, FAILED_MESSAGES, [shard, topic ?? null, limit])
  return found.map(({ id }) => id)
}

/* Gauges. They read only the partial indexes of waiting and failed messages. */
const OUTBOX_BACKLOG = statement(
  'outbox_backlog',
  `select topic, sum(waiting)::float8 as waiting, sum(failed)::float8 as failed,
     coalesce(extract(epoch from now() - min(oldest)), 0)::float8 as "lagSeconds"
   from generate_series(0, $1::integer - 1) s(shard)
   cross join lateral (
     select m.topic, count(*) as waiting, 0::bigint as failed, min(m.born_at) as oldest
     from hookonce.outbox m where m.shard = s.shard and m.state = 'waiting' group by m.topic
     union all
     select m.topic, 0, count(*), null from hookonce.outbox m
     where m.shard = s.shard and m.state = 'failed' group by m.topic
   ) counted
   group by topic order by topic`,
)

export interface OutboxBacklog {
  readonly topic: string
  readonly waiting: number
  readonly failed: number
  /** Age of the oldest waiting message. */
  readonly lagSeconds: number
}

export async function outboxBacklog(db: Queryable, shards: number): Promise<OutboxBacklog[]> {
  return rows(db, OUTBOX_BACKLOG, [shards])
}
