import { type Queryable, rows, statement } from '../driver/statement.ts'

/* Facts about the server itself, for the doctor. Sizes are in bytes. */

const SERVER_FACTS = statement(
  'server_facts',
  `select current_setting('server_version') as version,
     current_setting('server_version_num')::integer as "versionNumber",
     pg_is_in_recovery() as "isStandby",
     current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
     current_setting('fsync') as fsync,
     current_setting('full_page_writes') as "fullPageWrites",
     current_setting('synchronous_commit') as "synchronousCommit",
     current_setting('synchronous_standby_names') as "synchronousNames",
     standby.number as standbys,
     standby.synchronous as "synchronousStandbys",
     standby.behind as "standbyBehind",
     pg_size_bytes(current_setting('shared_buffers'))::float8 as "sharedBuffers",
     pg_size_bytes(current_setting('max_wal_size'))::float8 as "maxWalSize",
     current_setting('max_connections')::integer as "maxConnections",
     current_setting('superuser_reserved_connections')::integer
       + coalesce(current_setting('reserved_connections', true), '0')::integer as "reservedConnections",
     current_setting('autovacuum') as autovacuum,
     current_setting('track_counts') as "trackCounts",
     current_user::text as role,
     r.rolsuper as "isSuperuser",
     r.rolconnlimit as "roleConnections",
     d.datconnlimit as "databaseConnections",
     age(d.datfrozenxid)::float8 as "transactionAge",
     pg_has_role(current_user, 'pg_read_all_stats', 'usage') as "seesOthers",
     (select count(*)::integer from pg_stat_activity a
      where a.backend_type = 'client backend' and coalesce(a.application_name, '') not like 'hookonce%') as "otherSessions"
   from pg_database d, pg_roles r, (
     select count(*)::integer as number,
       count(*) filter (where sync_state in ('sync', 'quorum'))::integer as synchronous,
       max(case when not pg_is_in_recovery() then pg_current_wal_lsn() - flush_lsn end)::float8 as behind
     from pg_stat_replication
     where application_name <> 'pg_basebackup' and coalesce(state, 'streaming') in ('streaming', 'catchup')
   ) standby
   where d.datname = current_database() and r.rolname = current_user`,
)

export interface ServerFacts {
  readonly version: string
  readonly versionNumber: number
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  /** The setting synchronous_standby_names. */
  readonly synchronousNames: string
  /** Connected standbys, and how many of them are synchronous: 0 if this role may not see that. */
  readonly standbys: number
  readonly synchronousStandbys: number
  /** Bytes that the slowest standby has not written to its disk. Null: there is none, or unseen. */
  readonly standbyBehind: number | null
  readonly sharedBuffers: number
  readonly maxWalSize: number
  readonly maxConnections: number
  /** Connections that only superusers and other privileged roles may use. */
  readonly reservedConnections: number
  readonly autovacuum: string
  readonly trackCounts: string
  readonly role: string
  readonly isSuperuser: boolean
  /** -1: no limit. */
  readonly roleConnections: number
  readonly databaseConnections: number
  /** Transactions since the oldest row of this database that is not frozen. */
  readonly transactionAge: number
  /** Whether this role sees the transactions of other roles. */
  readonly seesOthers: boolean
  /** Open sessions of other programs, on the whole server. */
  readonly otherSessions: number
}

export async function serverFacts(db: Queryable): Promise<ServerFacts | undefined> {
  const [facts] = await rows<ServerFacts>(db, SERVER_FACTS)
  return facts
}

const SERVER_CLOCK = statement(
  'server_clock',
  `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
)

/** The time of the server, in milliseconds since 1970. */
export async function serverClockMs(db: Queryable): Promise<number> {
  const [row] = await rows<{ ms: number }>(db, SERVER_CLOCK)
  return row?.ms ?? Number.NaN
}

/** PostgreSQL 17 moved these counters to another view. */
const CHECKPOINTS = statement(
  'checkpoints',
  `select num_timed::float8 as timed, num_requested::float8 as requested from pg_stat_checkpointer`,
)
const CHECKPOINTS_BEFORE_17 = statement(
  'checkpoints_before_17',
  `select checkpoints_timed::float8 as timed, checkpoints_req::float8 as requested from pg_stat_bgwriter`,
)

export interface Checkpoints {
  readonly timed: number
  /** Forced, mostly because max_wal_size was reached. */
  readonly requested: number
}

export async function checkpointCounts(db: Queryable, versionNumber: number): Promise<Checkpoints> {
  const read = versionNumber >= 170_000 ? CHECKPOINTS : CHECKPOINTS_BEFORE_17
  const [counts] = await rows<Checkpoints>(db, read)
  return counts ?? { timed: 0, requested: 0 }
}

const BACKEND = statement('backend_pid', 'select pg_backend_pid() as pid')

/** The process of the server that runs this statement. */
export async function backendPid(db: Queryable): Promise<number> {
  const [row] = await rows<{ pid: number }>(db, BACKEND)
  return row?.pid ?? 0
}
