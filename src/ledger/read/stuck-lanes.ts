import { type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * Lanes of the outbox whose first message was refused, or killed its relay: the later messages wait
 * behind it. No index holds only these lanes, so $2 bounds how many lanes of each shard are read.
 */
const STUCK_LANES = statement(
  'stuck_lanes',
  `select first.tenant, l.topic, first.key, first.id as "messageId", first.receipt_id as "receiptId",
     l.attempt as attempts, l.crashes, l.reason, l.due_at as "dueAt", l.worker is not null as "isPublishing",
     first.born_at as "oldestAt", waiting.count::float8 as waiting
   from generate_series(0, $1::integer - 1) s(shard)
   cross join lateral (
     select * from ledger.outbox_lane k where k.shard = s.shard order by k.id limit $2::integer
   ) l
   cross join lateral (
     select * from ledger.outbox m where m.shard = l.shard and m.lane = l.id and m.state = 'waiting'
     order by m.seq limit 1
   ) first
   cross join lateral (
     select count(*) from (
       select from ledger.outbox w where w.shard = l.shard and w.lane = l.id and w.state = 'waiting'
       limit $3::integer
     ) counted
   ) waiting
   where (l.reason is not null or l.crashes > 0)
     and ($4::text is null or first.tenant = $4::text) and ($5::text is null or l.topic = $5::text)
   order by first.born_at, first.id limit $6::integer`,
)

export interface StuckLane {
  readonly tenant: string
  readonly topic: string
  readonly key: string | null
  /** The message that blocks the lane. */
  readonly messageId: string
  readonly receiptId: string
  readonly attempts: number
  /** Relays that died while publishing it. */
  readonly crashes: number
  readonly reason: string | null
  readonly dueAt: Date
  /** A relay tries it now. */
  readonly isPublishing: boolean
  readonly oldestAt: Date
  /** Messages in the lane, including the first one. */
  readonly waiting: number
}

export interface StuckLaneQuestion {
  readonly shards: number
  /** Lanes of each shard that are read. */
  readonly walk: number
  /** Messages of each lane that are counted. */
  readonly counted: number
  readonly tenant?: string | undefined
  readonly topic?: string | undefined
  readonly limit: number
}

/** Lanes that have been stuck longest come first. */
export async function stuckLanes(db: Queryable, question: StuckLaneQuestion): Promise<StuckLane[]> {
  const { shards, walk, counted, tenant, topic, limit } = question
  return rows(db, STUCK_LANES, [shards, walk, counted, tenant ?? null, topic ?? null, limit])
}
