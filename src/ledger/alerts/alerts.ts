import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { idRange } from '../read/id-prefix.ts'

/* Alerts: one row per case of a rule. src/alerts/lifecycle.ts decides how a row changes. */

/** The subject of an alert. An alert about a source has an empty subscriber. */
export interface AlertSubject {
  readonly rule: string
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
}

export interface Alert extends AlertSubject {
  readonly id: string
  readonly openedAt: Date
  readonly lastSeenAt: Date
  /** When the condition first became false; null while it holds. */
  readonly clearSince: Date | null
  readonly resolvedAt: Date | null
  /** When its channels were last notified that it is open. */
  readonly notifiedAt: Date | null
  readonly mutedUntil: Date | null
  readonly acknowledgedAt: Date | null
  readonly acknowledgedBy: string | null
  readonly acknowledgedWhy: string | null
  /** How often it was opened. */
  readonly times: number
  /** Whether the last message announced it as open. */
  readonly announced: boolean
  /** The extent of the problem, in one sentence. */
  readonly says: string
}

const ALERT = `id, rule, tenant, source, subscriber, opened_at as "openedAt", last_seen_at as "lastSeenAt",
     clear_since as "clearSince", resolved_at as "resolvedAt", notified_at as "notifiedAt", muted_until as "mutedUntil",
     acknowledged_at as "acknowledgedAt", acknowledged_by as "acknowledgedBy", acknowledged_why as "acknowledgedWhy",
     times, announced, says`

/* SKIP LOCKED: while one process evaluates, the others do not wait for it. */
const BEGIN_RUN = statement(
  'begin_alert_run',
  `select now() as now, hour_began_at > now() - interval '1 hour' as "isSameHour", sent
   from ledger.alert_run where id = 1 and ran_at <= now() - $1::float8 * interval '1 millisecond'
   for update skip locked`,
)

export interface AlertRun {
  /** The database's time. */
  readonly now: Date
  /** How many messages were sent in this hour. */
  readonly sent: number
}

/** Undefined: another process is evaluating, or did so less than `everyMs` ago. */
export async function beginAlertRun(db: Queryable, everyMs: number): Promise<AlertRun | undefined> {
  const [row] = await rows<{ now: Date; isSameHour: boolean; sent: number }>(db, BEGIN_RUN, [everyMs])
  return row && { now: row.now, sent: row.isSameHour ? row.sent : 0 }
}

const END_RUN = statement(
  'end_alert_run',
  `with hour as materialized (
     select id, case when hour_began_at > now() - interval '1 hour' then hour_began_at else now() end as began_at
     from ledger.alert_run where id = 1
   )
   update ledger.alert_run r set ran_at = now(), sent = $1::integer, hour_began_at = hour.began_at
   from hour where r.id = hour.id`,
)

export async function endAlertRun(db: Queryable, sent: number): Promise<void> {
  await change(db, END_RUN, [sent])
}

const CURRENT_ALERTS = statement(
  'current_alerts',
  `select ${ALERT} from ledger.alert where resolved_at is null
   union all
   select ${ALERT} from ledger.alert where resolved_at > now() - $1::integer * interval '1 minute'
   union all
   select ${ALERT} from ledger.alert
   where resolved_at is not null and announced and resolved_at <= now() - $1::integer * interval '1 minute'`,
)

/** Alerts that are open, may be opened again, or whose end was not announced yet. */
export async function currentAlerts(db: Queryable, reopenMinutes: number): Promise<Alert[]> {
  return rows(db, CURRENT_ALERTS, [reopenMinutes])
}

const SAVE_ALERTS = statement(
  'save_alerts',
  `insert into ledger.alert as a (id, rule, tenant, source, subscriber, opened_at, last_seen_at, clear_since, resolved_at,
     notified_at, times, announced, says)
   select id, rule, tenant, source, subscriber, "openedAt", "lastSeenAt", "clearSince", "resolvedAt", "notifiedAt", times,
     announced, says
   from json_to_recordset($1::json) g(id uuid, rule text, tenant text, source text, subscriber text,
     "openedAt" timestamptz, "lastSeenAt" timestamptz, "clearSince" timestamptz, "resolvedAt" timestamptz,
     "notifiedAt" timestamptz, times integer, announced boolean, says text)
   order by id
   -- Leaves out the columns of an acknowledgement: an operator may be writing them now.
   on conflict (id) do update
   set last_seen_at = excluded.last_seen_at, clear_since = excluded.clear_since, resolved_at = excluded.resolved_at,
     notified_at = excluded.notified_at, times = excluded.times, announced = excluded.announced, says = excluded.says`,
)

export async function saveAlerts(db: Queryable, alerts: readonly Alert[]): Promise<void> {
  if (alerts.length > 0) await change(db, SAVE_ALERTS, [JSON.stringify(alerts)])
}

const LIST_ALERTS = statement(
  'list_alerts',
  `(select ${ALERT} from ledger.alert where resolved_at is null and ($1::text is null or tenant = $1::text)
    order by opened_at desc limit $3::integer)
   union all
   (select ${ALERT} from ledger.alert
    where $2::boolean and resolved_at is not null and ($1::text is null or tenant = $1::text)
    order by resolved_at desc limit $3::integer)
   limit $3::integer`,
)

export interface AlertQuestion {
  readonly tenant?: string | undefined
  /** Includes resolved alerts. */
  readonly isAll: boolean
  readonly limit: number
}

/** Open alerts first, newest first; then resolved alerts, latest first. */
export async function listAlerts(db: Queryable, { tenant, isAll, limit }: AlertQuestion): Promise<Alert[]> {
  return rows(db, LIST_ALERTS, [tenant ?? null, isAll, limit])
}

const FIND_ALERTS = statement(
  'find_alerts',
  `select ${ALERT} from ledger.alert
   where id between $1::uuid and $2::uuid and ($3::text is null or tenant = $3::text) limit 2`,
)

/** Returns at most two: the second shows that the prefix is ambiguous. */
export async function findAlerts(
  db: Queryable,
  idPrefix: string,
  tenant: string | undefined,
): Promise<Alert[]> {
  const range = idRange(idPrefix)
  return range ? rows(db, FIND_ALERTS, [...range, tenant ?? null]) : []
}

const ACKNOWLEDGE = statement(
  'acknowledge_alert',
  `update ledger.alert
   set acknowledged_at = now(), acknowledged_by = $2, acknowledged_why = $3,
     muted_until = case when $4::float8 is null then muted_until else clock.until end
   from (select now() + $4::float8 * interval '1 millisecond' as until) clock
   where id = $1 and resolved_at is null
   returning ${ALERT}`,
)

export interface Acknowledgement {
  readonly id: string
  readonly by: string
  readonly why: string
  readonly muteMs?: number | undefined
}

/** Undefined: the alert is no longer open. */
export async function acknowledgeAlert(
  db: Queryable,
  { id, by, why, muteMs }: Acknowledgement,
): Promise<Alert | undefined> {
  const [alert] = await rows<Alert>(db, ACKNOWLEDGE, [id, by, why, muteMs ?? null])
  return alert
}

const SWEEP_ALERTS = statement(
  'sweep_alerts',
  `with due as materialized (
     select ctid as place from ledger.alert
     where resolved_at < now() - $1::integer * interval '1 day' and resolved_at is not null and not announced
     order by resolved_at limit $2::integer
     for update skip locked
   )
   delete from ledger.alert where ctid = any(array(select place from due))`,
)

/** Returns the number of deleted alerts, which were resolved long ago. */
export async function sweepAlerts(
  db: Queryable,
  { keepDays, limit }: { readonly keepDays: number; readonly limit: number },
): Promise<number> {
  return change(db, SWEEP_ALERTS, [keepDays, limit])
}
