import { together } from '../driver/shapes.ts'
import { change, type Queryable, rows, type Statement, statement } from '../driver/statement.ts'

const REGISTER_SOURCE = statement(
  'register_source',
  `insert into ledger.source (tenant, name, key_seconds, body_seconds) values ($1, $2, $3, $4)
   on conflict (tenant, name) do update set key_seconds = excluded.key_seconds, body_seconds = excluded.body_seconds`,
)

export interface SourceRow {
  readonly tenant: string
  readonly name: string
  readonly keySeconds: number
  readonly bodySeconds: number
}

export async function registerSource(db: Queryable, source: SourceRow): Promise<void> {
  await change(db, REGISTER_SOURCE, [source.tenant, source.name, source.keySeconds, source.bodySeconds])
}

/*
 * A subscriber whose circuit is not closed is registered as held. The lock keeps the circuit
 * unchanged until then, so the next change of the circuit includes the subscriber.
 */
const LOCK_LIMITER = statement(
  'lock_limiter',
  `select (case when state <> 'closed' then since end)::text as "heldAt"
   from ledger.limiter where id = $1::integer
   for share`,
)

const REGISTER_SUBSCRIBER = statement(
  'register_subscriber',
  `insert into ledger.subscriber (tenant, source, name, pattern, limiter, held_at)
   values ($1, $2, $3, $4, $5::integer, $6::timestamptz)
   on conflict (tenant, source, name) do update
   set pattern = excluded.pattern, seen_at = excluded.seen_at, limiter = excluded.limiter, held_at = excluded.held_at
   returning id`,
)

export interface SubscriberName {
  readonly tenant: string
  readonly source: string
  readonly name: string
  readonly pattern: string
  /** The number of its limiter, if it has a circuit or a rate. */
  readonly limiter?: number | undefined
}

/** Returns the subscriber's number. Jobs refer to their subscriber by this number. */
export async function registerSubscriber(
  db: Queryable,
  { tenant, source, name, pattern, limiter }: SubscriberName,
): Promise<number> {
  const row = await together(db, async (client) => {
    const [locked] =
      limiter === undefined ? [] : await rows<{ heldAt: string | null }>(client, LOCK_LIMITER, [limiter])
    const values = [tenant, source, name, pattern, locked ? limiter : null, locked?.heldAt ?? null]
    const [registered] = await rows<{ id: number }>(client, REGISTER_SUBSCRIBER, values)
    return registered
  })
  if (!row) throw new Error(`the ledger gave no id to subscriber ${name} of ${source}`)
  return row.id
}

/*
 * A repeated pause keeps the time and the reason of the first. The row is locked before it is read,
 * so that exactly one of several concurrent pauses is the first.
 */
const pauseOf = (name: string, table: string, where: string): Statement =>
  statement(
    name,
    `with before as materialized (
     select paused_at, pause_reason, coalesce(paused_at, now()) as since from ledger.${table} where ${where} for update
   )
   update ledger.${table} t
   set paused_at = case when $1::boolean then b.since end,
     pause_reason = case when $1::boolean and b.paused_at is not null then b.pause_reason when $1::boolean then $2::text end
   from before b where ${where}
   returning (b.paused_at is not null) as "wasPaused"`,
  )

const PAUSE_SOURCE = pauseOf('pause_source', 'source', 'tenant = $3 and name = $4')

const PAUSE_SUBSCRIBER = pauseOf(
  'pause_subscriber',
  'subscriber',
  'tenant = $3 and source = $4 and name = $5',
)

export interface Pause {
  readonly tenant: string
  readonly source: string
  /** One subscriber of the source. Undefined: all of them. */
  readonly subscriber?: string | undefined
  readonly paused: boolean
  /** Why it is paused. */
  readonly reason?: string | undefined
}

/**
 * Pauses: deliveries are recorded, their jobs wait. Returns whether it was paused before.
 * Undefined: no such source or subscriber.
 */
export async function setPaused(
  db: Queryable,
  { tenant, source, subscriber, paused, reason }: Pause,
): Promise<boolean | undefined> {
  const values = [paused, reason ?? null, tenant, source]
  const [changed] = await rows<{ wasPaused: boolean }>(
    db,
    subscriber === undefined ? PAUSE_SOURCE : PAUSE_SUBSCRIBER,
    subscriber === undefined ? values : [...values, subscriber],
  )
  return changed?.wasPaused
}

const LIST_SUBSCRIBERS = statement(
  'list_subscribers',
  `select id, name, pattern from ledger.subscriber where tenant = $1 and source = $2 order by id`,
)

export interface RegisteredSubscriber {
  readonly id: number
  readonly name: string
  readonly pattern: string
}

export async function subscribersOf(
  db: Queryable,
  tenant: string,
  source: string,
): Promise<RegisteredSubscriber[]> {
  return rows(db, LIST_SUBSCRIBERS, [tenant, source])
}

const READ_SOURCES = statement(
  'read_sources',
  `select tenant, name, key_seconds as "keySeconds", body_seconds as "bodySeconds" from ledger.source
   where name = $1 order by tenant`,
)

/** The sources of this name: one for each tenant that has it. */
export async function sourcesNamed(db: Queryable, name: string): Promise<SourceRow[]> {
  return rows(db, READ_SOURCES, [name])
}

/* Only the app knows whether a subscriber is ordered. Its jobs have an order key. */
const ORDERED_SUBSCRIBERS = statement(
  'ordered_subscribers',
  `select s.name from ledger.subscriber s
   where s.id = any($1::integer[])
     and exists (select from ledger.job j where j.subscriber = s.id and j.lane is not null)
   order by s.name`,
)

/** The names of those subscribers that have had jobs with an order key. Reads all their jobs. */
export async function orderedSubscribers(db: Queryable, subscribers: readonly number[]): Promise<string[]> {
  const found = await rows<{ name: string }>(db, ORDERED_SUBSCRIBERS, [subscribers])
  return found.map(({ name }) => name)
}
