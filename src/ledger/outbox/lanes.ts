import type { QueryResultRow } from 'pg'
import { ALONE_FROM, BURIED_AT } from '../../model/suspects.ts'
import * as binary from '../driver/binary.ts'
import { isDistributed } from '../driver/shapes.ts'
import { change, type Queryable, rows, type Statement, statement } from '../driver/statement.ts'

/*
 * Lanes of the outbox: the messages of one tenant, topic and key. A relay leases lanes, not
 * messages: only the relay that holds a lane publishes its messages, in order. The cost of a claim
 * does not depend on the number of messages in the lane. A message without a key has a lane of its
 * own.
 */

/**
 * Names one lease of a lane. Every write carries the fence; with a stale fence it changes nothing.
 */
export interface LaneRef {
  readonly shard: number
  readonly lane: string
  readonly fence: number
}

export interface ClaimedLane extends LaneRef {
  readonly topic: string
  /** The place of its last message when it was claimed. */
  readonly tail: number
  /** The attempts of its first message, including this one. */
  readonly attempt: number
  readonly crashes: number
}

/*
 * Finds the topics with due lanes, by shard. It locks nothing, so it may read all shards at once;
 * the claim that follows names one. It jumps from topic to topic in the index, however many lanes
 * wait.
 */
const DUE = statement(
  'due_lanes',
  `with recursive topics as (
     select s.shard, (
       select l.topic from ledger.outbox_lane l where l.shard = s.shard and l.worker is null
       order by l.topic limit 1) as topic
     from generate_series(0, $1::integer - 1) s(shard)
     union all
     select t.shard, (
       select l.topic from ledger.outbox_lane l where l.shard = t.shard and l.worker is null and l.topic > t.topic
       order by l.topic limit 1)
     from topics t where t.topic is not null
   )
   select t.shard, coalesce(array_agg(t.topic) filter (where due.kind = 'free'), '{}') as topics,
     coalesce(array_agg(t.topic) filter (where due.kind = 'suspect'), '{}') as suspects,
     coalesce(array_agg(t.topic) filter (where due.kind = 'alone'), '{}') as alone
   from topics t
   cross join lateral (
     (select 'free' as kind from ledger.outbox_lane l
      where l.shard = t.shard and l.topic = t.topic and l.worker is null and l.due_at <= now() and l.crashes = 0
      order by l.due_at limit 1)
     union all
     (select 'suspect' from ledger.outbox_lane l
      where l.shard = t.shard and l.topic = t.topic and l.worker is null and l.due_at <= now()
        and l.crashes > 0 and l.crashes < ${ALONE_FROM}
      order by l.due_at limit 1)
     union all
     (select 'alone' from ledger.outbox_lane l
      where l.shard = t.shard and l.topic = t.topic and l.worker is null and l.due_at <= now()
        and l.crashes > 0 and l.crashes >= ${ALONE_FROM}
      order by l.due_at limit 1)
   ) due
   where t.topic is not null
   group by t.shard
   order by random()`,
)

export interface DueLanes {
  readonly shard: number
  readonly topics: readonly string[]
  /** Topics of lanes that were in flight when their relay died. */
  readonly suspects: readonly string[]
  /** Topics of lanes that may only be published while nothing else runs in their process. */
  readonly alone: readonly string[]
}

/** In random order, so that relays do not all begin at the same shard. */
export async function dueLanes(db: Queryable, shards: number): Promise<DueLanes[]> {
  return rows(db, DUE, [shards])
}

/*
 * The fence of a lease. Citus allows no sequence in an UPDATE: there, the number is drawn first, and
 * all lanes of a claim get the same one.
 */
const DRAWN = `nextval('ledger.outbox_fence')`
const DRAW_FENCE = statement('draw_lane_fence', `select ${DRAWN} as fence`)

/** A fence that no lease has. A bigint as text. */
export async function drawFence(db: Queryable): Promise<string> {
  const [drawn] = await rows<{ fence: string }>(db, DRAW_FENCE)
  if (!drawn) throw new Error('the sequence of fences returned no number')
  return drawn.fence
}

const leasedWith = (fence: string): string => `fence = ${fence}, attempt = l.attempt + 1, started_at = now()`

/** Runs a statement with a fence of its own, or with a number that is drawn before. */
async function withFence<Row extends QueryResultRow>(
  db: Queryable,
  { plain, distributed }: { readonly plain: Statement; readonly distributed: Statement },
  values: unknown[],
): Promise<Row[]> {
  if (!isDistributed(db)) return rows<Row>(db, plain, values)
  return rows<Row>(db, distributed, [...values, await drawFence(db)])
}

/** The two shapes of a statement that sets a fence: see driver/shapes.ts. */
function bothShapes(
  name: string,
  text: (fence: string) => string,
  fence: string,
): { readonly plain: Statement; readonly distributed: Statement } {
  return {
    plain: statement(name, text(DRAWN), { only: 'plain' }),
    distributed: statement(`${name}_drawn`, text(fence)),
  }
}

const CLAIMED = `returning l.shard, l.id as lane, l.fence::float8 as fence, l.topic, l.tail::float8 as tail, l.attempt,
     l.crashes`

/*
 * Claims lanes of one shard. Their messages are read by a separate statement, which MUST come after
 * this one: a merged statement would use a snapshot from before the lanes were locked, and return
 * messages that another relay has published in between.
 */
const CLAIM = bothShapes(
  'claim_lanes',
  (fence) => `with picked as materialized (
     select l.at from unnest($2::text[], $3::integer[]) want(topic, slots)
     cross join lateral (
       select d.ctid as at from ledger.outbox_lane d
       where d.shard = $1::smallint and d.topic = want.topic and d.worker is null and d.due_at <= now()
         and d.crashes between $5::integer and $6::integer
       order by d.due_at limit want.slots
       for update skip locked
     ) l
   )
   update ledger.outbox_lane l
   set worker = $4::integer, ${leasedWith(fence)}
   where l.shard = $1::smallint and l.ctid = any(array(select at from picked))
   ${CLAIMED}`,
  '$7::bigint',
)

const CLAIM_SUSPECT = bothShapes(
  'claim_suspect_lane',
  (fence) => `update ledger.outbox_lane l
   set worker = $3::integer, ${leasedWith(fence)}
   where l.shard = $1::smallint and l.id = $2::uuid and l.worker is null and l.crashes >= ${ALONE_FROM}
   ${CLAIMED}`,
  '$4::bigint',
)

export interface LaneClaim {
  readonly shard: number
  readonly worker: number
  /** How many lanes of each topic there is room for. */
  readonly slots: ReadonlyMap<string, number>
  /**
   * Claims lanes that were in flight when a relay died, and may run beside others; or all others.
   */
  readonly suspects: boolean
}

export async function claimLanes(db: Queryable, claim: LaneClaim): Promise<ClaimedLane[]> {
  return withFence(db, CLAIM, [
    claim.shard,
    binary.texts([...claim.slots.keys()]),
    binary.integers([...claim.slots.values()]),
    claim.worker,
    claim.suspects ? 1 : 0,
    claim.suspects ? ALONE_FROM - 1 : 0,
  ])
}

/* Postpones a suspect, as for jobs: see jobs/claim.ts. */
const PUT_OFF_LANE = statement(
  'put_off_lane',
  `with picked as materialized (
     select l.ctid as at from ledger.outbox_lane l
     where l.shard = $1::smallint and l.topic = any($2::text[]) and l.worker is null and l.due_at <= now()
       and l.crashes > 0 and l.crashes >= ${ALONE_FROM}
     order by l.due_at limit 1
     for update skip locked
   )
   update ledger.outbox_lane l set due_at = now() + $3::integer * interval '1 millisecond'
   where l.shard = $1::smallint and l.ctid = any(array(select at from picked))
   returning l.shard, l.id as lane, l.topic`,
)

export interface SuspectLane {
  readonly shard: number
  readonly lane: string
  readonly topic: string
}

/** The lane that this process may claim within `ms`, with `claimSuspectLane`. */
export async function putOffLane(
  db: Queryable,
  { shard, topics, ms }: { readonly shard: number; readonly topics: readonly string[]; readonly ms: number },
): Promise<SuspectLane | undefined> {
  const [lane] = await rows<SuspectLane>(db, PUT_OFF_LANE, [shard, binary.texts(topics), ms])
  return lane
}

/** Leases a lane that was postponed. Undefined: it is gone, or another process has it. */
export async function claimSuspectLane(
  db: Queryable,
  { shard, lane }: SuspectLane,
  worker: number,
): Promise<ClaimedLane | undefined> {
  const [claimed] = await withFence<ClaimedLane>(db, CLAIM_SUSPECT, [shard, lane, worker])
  return claimed
}

/** How one lease of a lane ended. */
export interface LaneSettlement extends LaneRef {
  /** The place up to which its messages are finished; 0: none. */
  readonly doneTo: number
  /** The place of the first message of this lease, and its attempts. The others were tried once. */
  readonly first: number
  readonly attempt: number
  /** Why the last finished message failed for good, if it did. */
  readonly failure: string | undefined
  /** The attempts of the first remaining message, and when it is due again. */
  readonly left: { readonly attempt: number; readonly delayMs: number; readonly reason: string | undefined }
}

/*
 * Settles leases: marks messages as published or failed, and releases the lanes, or deletes them if
 * they are empty. The tail, read under the lock, shows whether a lane is empty: a message that was
 * added meanwhile is not in the snapshot of this statement. Leases that are not returned were lost:
 * nothing was changed for them.
 */
const SETTLE = statement(
  'settle_lanes',
  `with held as materialized (
     select e.*, l.tail, now() + e.left_ms * interval '1 millisecond' as due_at,
       (case when e.failure is null then 'published' else 'failed' end)::ledger.message_state as last_state
     from json_to_recordset($1::json) e(shard smallint, lane uuid, fence bigint, done_to bigint, first bigint,
       attempt smallint, failure text, left_attempt smallint, left_ms integer, left_reason text)
     cross join lateral (
       select * from ledger.outbox_lane k where k.shard = e.shard and k.id = e.lane limit 1 for update
     ) l
     where l.fence = e.fence and l.worker is not null
   ), finished as (
     update ledger.outbox m
     set state = case when m.seq = h.done_to then h.last_state else 'published' end,
       reason = case when m.seq = h.done_to then h.failure end,
       attempts = case when m.seq = h.first then h.attempt else 1 end,
       finished_at = now()
     from held h
     where m.shard = h.shard and m.lane = h.lane and m.seq <= h.done_to and m.state = 'waiting'
   ), emptied as (
     delete from ledger.outbox_lane l using held h
     where l.shard = h.shard and l.id = h.lane and h.tail <= h.done_to
   ), released as (
     update ledger.outbox_lane l
     -- A run that ended did not crash its process. A returned run, which has no reason, may not have
     -- started.
     set worker = null, attempt = h.left_attempt,
       crashes = case when h.done_to > 0 or h.left_reason is not null then 0 else l.crashes end,
       due_at = h.due_at, reason = h.left_reason
     from held h
     where l.shard = h.shard and l.id = h.lane and h.tail > h.done_to
   )
   select lane, fence::float8 as fence from held`,
)

/**
 * Returns for each settlement, in order, whether it was applied. False: the lease had been lost.
 */
export async function settleLanes(db: Queryable, settlements: readonly LaneSettlement[]): Promise<boolean[]> {
  const batch = settlements.toSorted(byLane).map((s) => ({
    shard: s.shard,
    lane: s.lane,
    fence: s.fence,
    done_to: s.doneTo,
    first: s.first,
    attempt: s.attempt,
    failure: s.failure && binary.storable(s.failure),
    left_attempt: s.left.attempt,
    left_ms: Math.round(s.left.delayMs),
    left_reason: s.left.reason && binary.storable(s.left.reason),
  }))
  const settled = await rows<{ lane: string; fence: number }>(db, SETTLE, [JSON.stringify(batch)])
  const settledLeases = new Set(settled.map(({ lane, fence }) => `${lane}/${fence}`))
  return settlements.map(({ lane, fence }) => settledLeases.has(`${lane}/${fence}`))
}

/** The order in which every statement locks lanes. */
function byLane(a: LaneRef, b: LaneRef): number {
  if (a.shard !== b.shard) return a.shard - b.shard
  return a.lane < b.lane ? -1 : 1
}

/** Lanes leased to a relay for longer than `olderThanMs`. The relay knows which of them it runs. */
const LEASED_TO = statement(
  'lanes_leased_to',
  `select l.shard, l.id as lane, l.fence::float8 as fence, l.attempt
   from generate_series(0, $1::integer - 1) s(shard)
   join ledger.outbox_lane l on l.shard = s.shard and l.worker = $2::integer
   where l.started_at < now() - $3::integer * interval '1 millisecond'`,
)

export interface LanesLeasedQuestion {
  readonly shards: number
  readonly worker: number
  readonly olderThanMs: number
}

export async function lanesLeasedTo(
  db: Queryable,
  { shards, worker, olderThanMs }: LanesLeasedQuestion,
): Promise<(LaneRef & { attempt: number })[]> {
  return rows(db, LEASED_TO, [shards, worker, olderThanMs])
}

/*
 * Takes back the lanes of dead relays in one shard. It decides and writes in one statement, and
 * raises the fence. Crashes count against the first message of a lane, which fails for good at the
 * count in model/suspects.ts. After the first crash a lane is published one message at a time, to
 * find the message that kills its relay.
 */
const RESCUE = bothShapes(
  'rescue_lanes',
  (fence) => `with orphan as materialized (
     select l.id, l.topic, l.attempt, l.crashes + $4::integer as crashes,
       l.crashes + $4::integer >= ${BURIED_AT} as poison,
       now() + interval '1 second' * $4::integer * least(60, 2 ^ l.crashes) as due_at, now() as now
     from ledger.outbox_lane l
     where l.shard = $1::smallint and l.worker = any($2::integer[])
     limit $3::integer
     for update skip locked
   ), rescued as (
     update ledger.outbox_lane l
     set worker = null, fence = ${fence},
       crashes = case when o.poison then 0 else o.crashes end,
       attempt = case when o.poison then 0 else l.attempt end,
       due_at = case when o.poison then o.now else o.due_at end,
       reason = case when o.poison then null
         when $4::integer = 0 then 'its process stopped while publishing it'
         else 'its relay died while publishing it' end
     from orphan o
     where l.shard = $1::smallint and l.id = o.id
   ), first as materialized (
     select o.id as lane, o.topic, o.attempt, o.crashes, o.poison, m.id, m.key
     from orphan o
     left join lateral (
       select w.id, w.key from ledger.outbox w
       where w.shard = $1::smallint and w.lane = o.id and w.state = 'waiting'
       order by w.seq limit 1
     ) m on true
   ), buried as (
     update ledger.outbox m
     set state = 'failed', finished_at = now(), attempts = f.attempt,
       reason = 'POISON: ' || f.crashes::text || ' relays died while publishing it; in the last ${BURIED_AT - ALONE_FROM} crashes it ran alone in its process'
     from first f
     where f.poison and m.shard = $1::smallint and m.id = f.id and m.state = 'waiting'
   )
   select id as "messageId", topic, key, attempt, poison as buried from first`,
  '$5::bigint',
)

export interface LaneRescue {
  readonly shard: number
  readonly deadWorkers: readonly number[]
  readonly limit: number
  /** True if the relays died, false if they ended by themselves. */
  readonly isCrash: boolean
}

export interface RescuedLane {
  /** The first message of the lane, if there is one. */
  readonly messageId: string | null
  readonly topic: string
  /** Of that message. */
  readonly key: string | null
  readonly attempt: number
  readonly buried: boolean
}

export async function rescueLanes(db: Queryable, rescue: LaneRescue): Promise<RescuedLane[]> {
  return withFence(db, RESCUE, [
    rescue.shard,
    binary.integers(rescue.deadWorkers),
    rescue.limit,
    rescue.isCrash ? 1 : 0,
  ])
}

/* A relay is already trying a lane that it holds. */
const RETRY_LANE = statement(
  'retry_lane_now',
  `update ledger.outbox_lane l set due_at = now()
   from ledger.outbox m
   where m.shard = $1::smallint and m.id = $2::uuid and m.state = 'waiting'
     and l.shard = m.shard and l.id = m.lane and l.worker is null and l.due_at > now()`,
)

/** Makes the lane of a waiting message due. False: it is due, held by a relay, or gone. */
export async function retryLaneNow(
  db: Queryable,
  { shard, id }: { readonly shard: number; readonly id: string },
): Promise<boolean> {
  return (await change(db, RETRY_LANE, [shard, id])) === 1
}
