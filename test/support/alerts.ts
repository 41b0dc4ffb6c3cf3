import { type AlertOptions, alertsSchema, type CheckedAlerts } from '../../src/alerts/config.ts'
import { type Evaluated, evaluateAlerts, type ReadCircuits } from '../../src/alerts/evaluate.ts'
import type { TestDatabase } from './database.ts'

/* Alerts on a database whose rollups, jobs and times the test writes. */

/** A channel without a relay: its messages stay in the outbox. */
const CHANNEL = { ops: { type: 'slack', url: 'http://127.0.0.1:9/hook' } } as const

export function checkedAlerts(options: AlertOptions = {}): CheckedAlerts {
  return alertsSchema.parse({ channels: CHANNEL, ...options })
}

/** Evaluates once, like the chore of a process. */
export async function evaluate(
  db: TestDatabase,
  options: AlertOptions = {},
  more: { readonly openCircuits?: ReadCircuits; readonly everyMs?: number } = {},
): Promise<Evaluated | undefined> {
  const ledger = { pool: db.pool, shards: 16 }
  return evaluateAlerts(ledger, { alerts: checkedAlerts(options), everyMs: 0, ...more })
}

/** A source and a subscriber, registered like by a process. */
export async function register(db: TestDatabase, source = 'stripe', subscriber = 'app'): Promise<number> {
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', $1, 1000, 1000)`,
    [source],
  )
  return db.number(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ('default', $1, $2, '*') returning id`,
    [source, subscriber],
  )
}

export interface Bucket {
  readonly size?: 1 | 10 | 60
  readonly source?: string
  readonly subscriber?: string
  readonly [count: string]: string | number | undefined
}

/** Adds a bucket that began this long ago. */
export async function bucket(
  db: TestDatabase,
  ago: string,
  { size = 1, source = 'stripe', subscriber = '', ...counts }: Bucket,
): Promise<void> {
  const names = Object.keys(counts)
  const places = names.map((_, n) => `$${n + 5}`)
  await db.rows(
    `insert into hookonce.rollup (size, at, tenant, source, subscriber, ${names.join(', ')})
     values ($1, now() - $2::interval, 'default', $3, $4, ${places.join(', ')})`,
    [size, ago, source, subscriber, ...Object.values(counts)],
  )
}

/** Makes all buckets older by this time, as if the time had passed. */
export async function timePasses(db: TestDatabase, time: string): Promise<void> {
  // In two steps: a bucket must not collide with the bucket that it replaces.
  await db.rows(`update hookonce.rollup set at = at - interval '100 years'`)
  await db.rows(`update hookonce.rollup set at = at + interval '100 years' - $1::interval`, [time])
  await db.rows(
    `update hookonce.alert set opened_at = opened_at - $1::interval, last_seen_at = last_seen_at - $1::interval,
       clear_since = clear_since - $1::interval, resolved_at = resolved_at - $1::interval,
       notified_at = notified_at - $1::interval, muted_until = muted_until - $1::interval`,
    [time],
  )
  await db.rows(
    'update hookonce.alert_run set ran_at = ran_at - $1::interval, hour_began_at = hour_began_at - $1::interval',
    [time],
  )
}

export interface AlertRow {
  readonly rule: string
  readonly about: string
  readonly state: string
  readonly times: number
}

export async function alertsOf(db: TestDatabase): Promise<AlertRow[]> {
  return db.rows(`select rule, source || case when subscriber = '' then '' else '/' || subscriber end as about,
      case when resolved_at is null then 'open' else 'resolved' end as state, times
    from hookonce.alert order by rule, about, opened_at`)
}

export interface Told {
  readonly opened: readonly { readonly rule: string; readonly says: string; readonly next: string }[]
  readonly resolved: readonly { readonly rule: string; readonly says: string }[]
  readonly more: number
}

/** The payloads of all messages, in order. */
export async function toldTo(db: TestDatabase, channel = 'ops'): Promise<Told[]> {
  const found = await db.rows<{ payload: Told }>(
    'select payload from hookonce.outbox where topic = $1 order by seq',
    [`hookonce.alerts.${channel}`],
  )
  return found.map(({ payload }) => payload)
}
