import type { HookonceError } from '../../model/errors.ts'
import { ALONE_FROM, TOGETHER_FROM } from '../../model/suspects.ts'
import * as binary from '../driver/binary.ts'
import { type Queryable, rows, type Statement, statement } from '../driver/statement.ts'
import type { SealedPayload } from '../vault/vault.ts'
import type { JobRef } from './job-ref.ts'
import { CLAIMABLE } from './states.ts'

/** A leased job with its receipt. */
export interface ClaimedJob extends JobRef {
  readonly attempt: number
  readonly crashes: number
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | null
  /** Raised by a fresh replay, which repeats everything. */
  readonly epoch: number
  /** Milliseconds since the job was born. */
  readonly ageMs: number
  /** The order key, of an ordered subscriber. */
  readonly orderKey: string | null
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | null
  readonly occurredAtMs: number | null
  readonly receivedAtMs: number
  readonly headers: string | null
  /** Format of `encode(…, 'escape')`: see escaped-bytes.ts. Null if it is large, or deleted. */
  readonly body: string | null
  /**
   * If there are no headers, this is an encrypted payload: four bytes with the number of its data
   * key, and the sealed bytes. So a claim of plain receipts needs no further column.
   */
  readonly largeBody: Buffer | null
  /** Why an encrypted payload cannot be read. */
  readonly unreadable?: HookonceError | undefined
}

/** The payload of a claimed job, if it is encrypted. */
export function sealedPayloadOf(job: ClaimedJob): SealedPayload | undefined {
  const { receiptId, headers, largeBody } = job
  if (headers !== null || largeBody === null) return undefined
  return { receiptId, dataKey: largeBody.readInt32BE(), bytes: largeBody.subarray(4) }
}

/**
 * As text, a body takes up to four times its size in the heap: fifty of the largest would fill it
 * before any of their jobs has started. Larger bodies are read as bytes, which are held outside the
 * heap.
 */
const LARGE_BYTES = 64 * 1024

/** Suspects are claimed apart from other jobs. */
export const NO_SUSPECT = `j.crashes < ${TOGETHER_FROM}`

/*
 * Finds the shards with due work, and its subscribers. It locks nothing, so it may read all shards
 * at once; the claim that follows names one. LATERAL with LIMIT makes each pair one index probe,
 * whatever the backlog. ORDER BY makes the planner use the index. Without it, the planner would
 * read the table: it expects to find a due job of a large backlog soon, but finished jobs come
 * first.
 */
const DUE = statement(
  'due',
  `select s.shard, array_agg(u.id) as subscribers
   from generate_series(0, $1::integer - 1) s(shard)
   cross join (
     select sub.id from ledger.subscriber sub
     join ledger.source o on o.tenant = sub.tenant and o.name = sub.source
     where sub.id = any($2::integer[]) and sub.paused_at is null and sub.held_at is null and o.paused_at is null
   ) u
   cross join lateral (
     select from ledger.job j
     where j.shard = s.shard and j.subscriber = u.id and j.state in ${CLAIMABLE} and j.due_at <= now()
       and ${NO_SUSPECT}
     order by j.due_at limit 1
   ) due
   group by s.shard`,
)

export interface DueShard {
  readonly shard: number
  readonly subscribers: readonly number[]
}

export interface DueQuestion {
  readonly shards: number
  readonly subscribers: readonly number[]
}

/** Excludes jobs that were in flight in several crashes: see `dueSuspects`. */
export async function dueShards(db: Queryable, question: DueQuestion): Promise<DueShard[]> {
  return rows(db, DUE, [question.shards, binary.integers(question.subscribers)])
}

/* A partial index holds only these jobs, so the read costs almost nothing if there are none. */
const DUE_SUSPECTS = statement(
  'due_suspects',
  `select j.shard, j.subscriber, j.crashes >= ${ALONE_FROM} as "isAlone"
   from ledger.job j
   join ledger.subscriber s on s.id = j.subscriber and s.paused_at is null
   join ledger.source o on o.tenant = s.tenant and o.name = s.source and o.paused_at is null
   where j.crashes >= ${TOGETHER_FROM} and j.state in ${CLAIMABLE} and j.due_at <= now()
     and j.subscriber = any($1::integer[])
   order by j.due_at limit 32`,
)

/** The place of a due job that was in flight in several crashes. */
export interface DueSuspect {
  readonly shard: number
  readonly subscriber: number
  /** It may only run while nothing else runs in its process. */
  readonly isAlone: boolean
}

export async function dueSuspects(db: Queryable, subscribers: readonly number[]): Promise<DueSuspect[]> {
  return rows(db, DUE_SUSPECTS, [binary.integers(subscribers)])
}

/*
 * Postpones a due suspect for the calling process, which waits until nothing else runs in it.
 * Otherwise other processes would stop their own work for the same job. This is not a lease: if the
 * process dies meanwhile, the job does not count as the cause.
 */
const PUT_OFF_SUSPECT = statement(
  'put_off_suspect',
  `with picked as materialized (
     select j.receipt_id, j.subscriber
     from ledger.job j
     join ledger.subscriber s on s.id = j.subscriber and s.paused_at is null
     join ledger.source o on o.tenant = s.tenant and o.name = s.source and o.paused_at is null
     where j.shard = $1::smallint and j.crashes >= ${TOGETHER_FROM} and j.crashes >= ${ALONE_FROM}
       and j.state in ${CLAIMABLE} and j.due_at <= now() and j.subscriber = any($2::integer[])
     order by j.due_at limit 1
     for update of j skip locked
   )
   update ledger.job j set due_at = now() + $3::integer * interval '1 millisecond'
   from picked p where j.shard = $1::smallint and j.receipt_id = p.receipt_id and j.subscriber = p.subscriber
   returning j.shard, j.receipt_id as "receiptId", j.subscriber`,
)

export type Suspect = Omit<JobRef, 'fence'>

export interface SuspectReservation {
  readonly shard: number
  readonly subscribers: readonly number[]
  readonly ms: number
}

/** The job that this process may claim within `ms`, with `claimSuspect`. */
export async function putOffSuspect(
  db: Queryable,
  { shard, subscribers, ms }: SuspectReservation,
): Promise<Suspect | undefined> {
  const [suspect] = await rows<Suspect>(db, PUT_OFF_SUSPECT, [shard, binary.integers(subscribers), ms])
  return suspect
}

/** Further inputs of a claim, which circuits.ts also uses. */
const ANY_CLAIM = { before: '', condition: '', columns: '' }

/*
 * Claims jobs in one shard, up to a number of slots per subscriber.
 * - MATERIALIZED: otherwise the planner may run the LIMIT again and lease more jobs than wanted.
 * - Pauses and circuits are checked here too: a due job may have been paused since it was found.
 *   Suspects ($5) do not wait for a circuit: nothing else would ever find them.
 * - Locked jobs are updated by ctid. In a join, the planner cannot know how few they are, and would
 *   read the whole shard. A job that changed between snapshot and lock has moved: it stays due for
 *   the next claim.
 * - The partial index holds due work only, so the cost depends neither on history nor on the number
 *   of jobs in flight.
 * - A claim does not wait for the disk. If a crash of the server loses it, the job is due again,
 *   and of two runs with the same fence only one finds its job processing. Everything that a run
 *   commits reaches the disk after its claim.
 */
export const claimOf = (
  name: string,
  picked: string,
  { before, condition, columns } = ANY_CLAIM,
): Statement =>
  statement(
    name,
    `with hurried as materialized (
     select set_config('synchronous_commit', 'off', true)
   ), picked as materialized (
     ${picked}
   ), ${before}leased as (
     update ledger.job j
     set state = 'processing', worker = $4::integer, fence = j.fence + 1, attempt = j.attempt + 1, started_at = now()
     where j.shard = $1::smallint and j.ctid = any(array(select at from picked))${condition}
     returning j.receipt_id, j.subscriber, j.fence, j.attempt, j.crashes, j.born_at, j.last_step, j.epoch, j.lane
   )
   select l.receipt_id as "receiptId", l.subscriber, l.fence, l.attempt, l.crashes, l.last_step as "lastStep", l.epoch, l.lane as "orderKey",
     (extract(epoch from now() - l.born_at) * 1000)::float8 as "ageMs",
     r.event_key as "eventKey", r.event_type as "eventType", r.object_id as "objectId",
     (extract(epoch from r.occurred_at) * 1000)::float8 as "occurredAtMs",
     (extract(epoch from r.received_at) * 1000)::float8 as "receivedAtMs",
     r.headers,
     case when octet_length(r.body) <= ${LARGE_BYTES} then encode(r.body, 'escape') end as body,
     case when octet_length(r.body) > ${LARGE_BYTES} then r.body
       when r.body is null then int4send(r.data_key) || r.sealed end as "largeBody"${columns}
   from leased l
   join ledger.receipt r on r.shard = $1::smallint and r.id = l.receipt_id`,
  )

const CLAIM = claimOf(
  'claim',
  `select j.at
     from hurried
     cross join unnest($2::integer[], $3::integer[]) want(subscriber, slots)
     join ledger.subscriber s on s.id = want.subscriber and s.paused_at is null
       and (s.held_at is null or $5::integer > 0)
     join ledger.source o on o.tenant = s.tenant and o.name = s.source and o.paused_at is null
     cross join lateral (
       select d.ctid as at from ledger.job d
       where d.shard = $1::smallint and d.subscriber = want.subscriber and d.state in ${CLAIMABLE}
         and d.due_at <= now() and d.crashes between $5::integer and $6::integer
       order by d.due_at limit want.slots
       for update skip locked
     ) j`,
)

/** Ignores the due time: the suspect was postponed for this process. */
const CLAIM_SUSPECT = claimOf(
  'claim_suspect',
  `select d.ctid as at from hurried cross join ledger.job d
     where d.shard = $1::smallint and d.receipt_id = $2::uuid and d.subscriber = $3::integer
       and d.state in ${CLAIMABLE} and d.crashes >= ${ALONE_FROM}
     for update of d skip locked`,
)

export interface Claim {
  readonly shard: number
  readonly worker: number
  /** How many jobs each subscriber has room for. */
  readonly slots: ReadonlyMap<number, number>
  /** Claims suspects that may run beside others; otherwise only jobs that are not suspects. */
  readonly suspects?: boolean
}

export async function claimJobs(db: Queryable, claim: Claim): Promise<ClaimedJob[]> {
  const claimed = await rows<Omit<ClaimedJob, 'shard'>>(db, CLAIM, [
    claim.shard,
    binary.integers([...claim.slots.keys()]),
    binary.integers([...claim.slots.values()]),
    claim.worker,
    claim.suspects ? TOGETHER_FROM : 0,
    (claim.suspects ? ALONE_FROM : TOGETHER_FROM) - 1,
  ])
  return claimed.map((job) => Object.assign(job, { shard: claim.shard }))
}

/** Leases a suspect that was postponed. Undefined: it is gone, or another process has it. */
export async function claimSuspect(
  db: Queryable,
  { shard, receiptId, subscriber }: Suspect,
  worker: number,
): Promise<ClaimedJob | undefined> {
  const [job] = await rows<Omit<ClaimedJob, 'shard'>>(db, CLAIM_SUSPECT, [
    shard,
    receiptId,
    subscriber,
    worker,
  ])
  return job && Object.assign(job, { shard })
}
