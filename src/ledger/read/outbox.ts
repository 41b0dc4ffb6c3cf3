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
const IN_LANE = `left join ledger.outbox_lane l on l.shard = m.shard and l.id = m.lane
   left join lateral (
     select min(w.seq) as seq from ledger.outbox w
     where w.shard = m.shard and w.lane = m.lane and w.state = 'waiting' and m.state = 'waiting'
   ) first on true`

const LIST_MESSAGES = statement(
  'list_messages',
  `select ${MESSAGE}
   from (
     select latest.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       (select * from ledger.outbox o
        where o.shard = s.shard and o.state = 'waiting' and 'waiting' = any($3::text[])
          and ($4::text is null or o.topic = $4::text) and ($5::text is null or o.tenant = $5::text)
        order by o.created_at desc limit $2::integer)
       union all
       (select * from ledger.outbox o
        where o.shard = s.shard and o.state <> 'waiting' and o.state::text = any($3::text[])
          and ($4::text is null or o.topic = $4::text) and ($5::text is null or o.tenant = $5::text)
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
  readonly tenant?: string | undefined
}

/** The latest messages first. */
export async function listMessages(
  db: Queryable,
  { shards, limit, states, topic, tenant }: MessageQuestion,
): Promise<MessageRow[]> {
  return rows(db, LIST_MESSAGES, [shards, limit, states, topic ?? null, tenant ?? null])
}

/*
 * Pages of messages. Waiting ones lie lane by lane along `outbox_waiting`, in the order in which
 * they will be published. Finished ones are read along `outbox_finished`, the latest first; failed
 * ones, if they are few, by `outbox_failed`, so the state is part of the text. The walk bounds the
 * rows of each shard that are tried against the filter.
 */
const waitingPage = (beyond: string, order: string): string => `select ${MESSAGE},
     m.shard || '_' || m.lane || '_' || m.seq as cursor
   from (
     select o.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select * from (
         select * from ledger.outbox o
         where o.shard = s.shard and o.state = 'waiting'
           and (o.shard, o.lane, o.seq) ${beyond} ($2::smallint, $3::uuid, $4::bigint)
         order by o.lane ${order}, o.seq ${order} limit $6::integer
       ) o
       where ($7::text is null or o.tenant = $7::text) and ($8::text is null or o.topic = $8::text)
       limit $5::integer
     ) o
     order by o.shard ${order}, o.lane ${order}, o.seq ${order} limit $5::integer
   ) m
   ${IN_LANE}
   order by m.shard, m.lane, m.seq`

const finishedPage = (
  state: string,
  beyond: string,
  order: string,
  idOrder: string,
): string => `select ${MESSAGE},
     to_char(m.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || m.id as cursor
   from (
     select o.* from generate_series(0, $1::integer - 1) s(shard)
     cross join lateral (
       select * from (
         select * from ledger.outbox o
         where o.shard = s.shard and o.state = '${state}' and ${beyond}
         order by o.finished_at ${order}, o.id ${idOrder} limit $5::integer
       ) o
       where ($6::text is null or o.tenant = $6::text) and ($7::text is null or o.topic = $7::text)
       limit $4::integer
     ) o
     order by o.finished_at ${order}, o.id ${idOrder} limit $4::integer
   ) m
   ${IN_LANE}
   order by m.finished_at desc, m.id`

const OLDER = 'o.finished_at <= $2::timestamptz and (o.finished_at < $2::timestamptz or o.id > $3::uuid)'
const NEWER = 'o.finished_at >= $2::timestamptz and (o.finished_at > $2::timestamptz or o.id < $3::uuid)'

const MESSAGE_PAGES = {
  waiting: {
    onward: statement('page_waiting', waitingPage('>', 'asc')),
    back: statement('page_waiting_back', waitingPage('<', 'desc')),
  },
  published: {
    onward: statement('page_published', finishedPage('published', OLDER, 'desc', 'asc')),
    back: statement('page_published_back', finishedPage('published', NEWER, 'asc', 'desc')),
  },
  failed: {
    onward: statement('page_failed', finishedPage('failed', OLDER, 'desc', 'asc')),
    back: statement('page_failed_back', finishedPage('failed', NEWER, 'asc', 'desc')),
  },
} as const

export type PagedMessage = MessageRow & { readonly cursor: string }

export interface MessagePageQuestion {
  readonly shards: number
  readonly state: 'waiting' | 'published' | 'failed'
  readonly direction: 'onward' | 'back'
  /** Three parts of a position in the waiting list, two in the finished one. */
  readonly from: readonly (string | number)[]
  readonly limit: number
  /** Rows of each shard that are tried against the filter. */
  readonly walk: number
  readonly tenant?: string | undefined
  readonly topic?: string | undefined
}

/** In the order of the list, whatever the direction. */
export async function readMessagePage(db: Queryable, question: MessagePageQuestion): Promise<PagedMessage[]> {
  const { shards, state, direction, from, limit, walk, tenant, topic } = question
  return rows(db, MESSAGE_PAGES[state][direction], [
    shards,
    ...from,
    limit,
    walk,
    tenant ?? null,
    topic ?? null,
  ])
}

/* By the full id or by the beginning of one. */
const FIND_MESSAGES = statement(
  'find_messages',
  `select m.shard, ${MESSAGE}, m.headers, m.payload::text as payload
   from generate_series(0, $1::integer - 1) s(shard)
   join ledger.outbox m on m.shard = s.shard and m.id between $2::uuid and $3::uuid
     and ($4::text is null or m.tenant = $4::text)
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
export async function findMessages(
  db: Queryable,
  shards: number,
  idPrefix: string,
  tenant?: string,
): Promise<FoundMessage[]> {
  const range = idRange(idPrefix)
  return range ? rows(db, FIND_MESSAGES, [shards, ...range, tenant ?? null]) : []
}

const MESSAGES_BY_ID = statement(
  'messages_by_id',
  `select m.id, m.topic, m.key, m.state::text as state, m.created_at as "createdAt", m.finished_at as "finishedAt"
   from generate_series(0, $1::integer - 1) s(shard)
   join ledger.outbox m on m.shard = s.shard and m.id = any($2::uuid[])
   order by m.created_at, array_position($2::uuid[], m.id)`,
)

export type PublishedMessage = Pick<MessageRow, 'id' | 'topic' | 'key' | 'createdAt' | 'finishedAt'> & {
  readonly state: string
}

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
  `select m.id from ledger.outbox m
   where m.shard = $1::smallint and m.state = 'failed' and ($2::text is null or m.topic = $2::text)
     and ($4::text is null or m.tenant = $4::text)
   order by m.finished_at limit $3::integer`,
)

export interface FailedMessagesQuestion {
  readonly shard: number
  readonly tenant?: string | undefined
  readonly topic?: string | undefined
  readonly limit: number
}

/** The ids of failed messages, oldest first. */
export async function failedMessages(
  db: Queryable,
  { shard, tenant, topic, limit }: FailedMessagesQuestion,
): Promise<string[]> {
  const values = [shard, topic ?? null, limit, tenant ?? null]
  const found = await rows<{ id: string }>(db, FAILED_MESSAGES, values)
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
     from ledger.outbox m where m.shard = s.shard and m.state = 'waiting' group by m.topic
     union all
     select m.topic, 0, count(*), null from ledger.outbox m
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
