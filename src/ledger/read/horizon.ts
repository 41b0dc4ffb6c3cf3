import { type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * Finds what keeps vacuum from removing dead rows: the oldest transaction that may still need them.
 * It may belong to any session of this database, a prepared transaction, or a replication slot.
 */

const OLD_SESSIONS = statement(
  'old_sessions',
  `select pid, coalesce(usename, '')::text as "user", coalesce(application_name, '') as application,
     coalesce(state, '') as state, extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
   from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     and backend_type in ('client backend', 'parallel worker', 'walsender')
     and xact_start < clock_timestamp() - $1::float8 * interval '1 second'
   order by xact_start limit 5`,
)

export interface OldSession {
  readonly pid: number
  readonly user: string
  readonly application: string
  readonly state: string
  readonly seconds: number
}

/** Sessions with a transaction that has been open for longer than `seconds`, oldest first. */
export function oldSessions(db: Queryable, seconds: number): Promise<OldSession[]> {
  return rows(db, OLD_SESSIONS, [seconds])
}

const PREPARED = statement(
  'prepared_transactions',
  `select gid, owner::text as owner, extract(epoch from clock_timestamp() - prepared)::float8 as seconds
   from pg_prepared_xacts
   where database = current_database() and prepared < clock_timestamp() - $1::float8 * interval '1 second'
   order by prepared limit 5`,
)

export interface PreparedTransaction {
  readonly gid: string
  readonly owner: string
  readonly seconds: number
}

export function oldPreparedTransactions(db: Queryable, seconds: number): Promise<PreparedTransaction[]> {
  return rows(db, PREPARED, [seconds])
}

const SLOTS = statement(
  'replication_slots',
  `select slot_name::text as name, active as "isActive", coalesce(wal_status, '') as status,
     coalesce(greatest(age(xmin), age(catalog_xmin)), 0)::float8 as age,
     coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::float8 as bytes
   from pg_replication_slots
   where not pg_is_in_recovery()
   order by bytes desc limit 20`,
)

export interface ReplicationSlot {
  readonly name: string
  readonly isActive: boolean
  /** For example `reserved`, `extended`, `unreserved` or `lost`. */
  readonly status: string
  /** The age of the oldest transaction that it holds, in transactions. */
  readonly age: number
  /** The size of the write-ahead log that the server keeps for it. */
  readonly bytes: number
}

export function replicationSlots(db: Queryable): Promise<ReplicationSlot[]> {
  return rows(db, SLOTS)
}
