import { change, type Queryable, rows, statement } from '../driver/statement.ts'

const REGISTER_SOURCE = statement(
  'register_source',
  `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ($1, $2, $3, $4)
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

const REGISTER_SUBSCRIBER = statement(
  'register_subscriber',
  `insert into hookonce.subscriber (tenant, source, name, pattern) values ($1, $2, $3, $4)
   on conflict (tenant, source, name) do update set pattern = excluded.pattern, seen_at = now()
   returning id`,
)

export interface SubscriberName {
  readonly tenant: string
  readonly source: string
  readonly name: string
  readonly pattern: string
}

/** Returns the subscriber's number. Jobs refer to their subscriber by this number. */
export async function registerSubscriber(
  db: Queryable,
  { tenant, source, name, pattern }: SubscriberName,
): Promise<number> {
  const [row] = await rows<{ id: number }>(db, REGISTER_SUBSCRIBER, [tenant, source, name, pattern])
  if (!row) throw new Error(`the ledger gave no id to subscriber ${name} of ${source}`)
  return row.id
}

const PAUSE_SOURCE = statement(
  'pause_source',
  `update hookonce.source set paused_at = case when $3::boolean then coalesce(paused_at, now()) end
   where tenant = $1 and name = $2`,
)

const PAUSE_SUBSCRIBER = statement(
  'pause_subscriber',
  `update hookonce.subscriber set paused_at = case when $4::boolean then coalesce(paused_at, now()) end
   where tenant = $1 and source = $2 and name = $3`,
)

export interface Pause {
  readonly tenant: string
  readonly source: string
  /** One subscriber of the source. Undefined: all of them. */
  readonly subscriber?: string | undefined
  readonly paused: boolean
}

/** Paused: deliveries are recorded, their jobs wait. False: no such source or subscriber. */
export async function setPaused(
  db: Queryable,
  { tenant, source, subscriber, paused }: Pause,
): Promise<boolean> {
  const changed =
    subscriber === undefined
      ? await change(db, PAUSE_SOURCE, [tenant, source, paused])
      : await change(db, PAUSE_SUBSCRIBER, [tenant, source, subscriber, paused])
  return changed === 1
}

const LIST_SUBSCRIBERS = statement(
  'list_subscribers',
  `select id, name, pattern from hookonce.subscriber where tenant = $1 and source = $2 order by id`,
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
