import type { ClientBase, Pool } from 'pg'
import { DURABLE } from '../../sql/durable.ts'
import type { PipelinedStatement } from './pipeline.ts'

/*
 * User code can change the session of its connection: settings, roles, temporary tables and locks.
 * Statements, functions and triggers can all do this, with or without SET LOCAL, and PostgreSQL
 * does not report it. So the engine does not look for changes. It resets the session after each job
 * of a shared transaction and before each commit.
 *
 * The reset runs inside the transaction, so it also works behind a pooler in transaction mode.
 */

/**
 * The state of a session when its connection opened, as far as RESET does not restore it.
 */
interface Session {
  /** Settings made by the pool's `onConnect`, or by the engine. */
  readonly settings: readonly (readonly [name: string, value: string])[]
  /** `none`, or the role that the login or `onConnect` set. */
  readonly role: string
}

const NOTHING_SET: Session = { settings: [], role: 'none' }

const sessions = new WeakMap<ClientBase, Session>()
const resetPools = new WeakSet<Pool>()

/* pg_settings does not list settings of extensions that are not loaded, such as app.tenant. */
const OPENED = `select current_setting('role') as role,
  coalesce((select json_agg(json_build_array(name, setting)) from pg_settings
    where source = 'session' and name <> 'idle_in_transaction_session_timeout'), '[]') as settings`

/**
 * Marks this pool: its sessions are reset after user code ran. `remember` is false behind a pooler,
 * which mixes sessions.
 */
export function resetSessions(pool: Pool, { remember }: { readonly remember: boolean }): Pool {
  resetPools.add(pool)
  if (!remember) return pool
  const { onConnect } = pool.options
  pool.options.onConnect = async (client) => {
    await onConnect?.(client)
    const result = await client.query(OPENED)
    sessions.set(client, result.rows[0] ?? NOTHING_SET)
  }
  return pool
}

export function isReset(pool: Pool): boolean {
  return resetPools.has(pool)
}

/**
 * Statements between two jobs of one transaction. RESET SESSION AUTHORIZATION also ends SET ROLE.
 * Two statements are enough on nearly every connection. Keep it that way: every job pays for each
 * of them.
 */
export function betweenJobs(client: ClientBase): PipelinedStatement[] {
  return [
    plain('reset session authorization'),
    plain('reset all'),
    // If the session was not remembered: back to the role that ALTER ROLE … SET role gives the
    // login.
    ...(sessions.has(client) ? restored(client) : [plain('reset role')]),
  ]
}

/**
 * Statements before a job that is committed alone. They remove what earlier jobs may have left in
 * the session and RESET does not: cursors, values of sequences, and statements that were prepared
 * in SQL. A job that fails after these has failed by itself.
 */
export function beforeAlone(): PipelinedStatement[] {
  return [plain('close all'), plain('discard sequences'), plain('unlisten *'), plain(DEALLOCATE_FOREIGN)]
}

/* Not DEALLOCATE ALL: pg would still use the statements that it has prepared by protocol. */
const DEALLOCATE_FOREIGN = `do $$ declare foreign_name text; begin
  for foreign_name in select name from pg_catalog.pg_prepared_statements where from_sql loop
    execute pg_catalog.format('deallocate %I', foreign_name);
  end loop;
end $$`

interface SessionEnd {
  /** The idle limit of the connection, to be set again after RESET ALL. */
  readonly idleMs: number
  /** Whether the transaction contains only one job. */
  readonly isAlone: boolean
}

/**
 * Statements after the last job, before the engine's own records and COMMIT. Deferred triggers run
 * here; during COMMIT they could still change settings. Fails if a job created a temporary table,
 * which may have hidden a real table from later jobs. The caller then commits the jobs one by one.
 */
export function afterJobs(client: ClientBase, { idleMs, isAlone }: SessionEnd): PipelinedStatement[] {
  const limit = `set_config('idle_in_transaction_session_timeout', $1, $2::boolean)`
  return [
    plain('set constraints all immediate'),
    // A cursor WITH HOLD would outlive the commit.
    plain('close all'),
    ...betweenJobs(client),
    ...(isAlone ? [plain('discard temp')] : []),
    {
      text: `select ${DURABLE}, ${limit}, pg_advisory_unlock_all()${isAlone ? '' : `, ${NO_TEMPORARY_TABLES}`}`,
      values: [String(Math.ceil(idleMs)), sessions.get(client) === undefined],
    },
  ]
}

/*
 * Fails with a division by zero if a temporary table exists. Most sessions have no temporary
 * schema, so the subquery does not run.
 */
const NO_TEMPORARY_TABLES = `case when pg_my_temp_schema() <> 0 then
     1 / (select (count(*) = 0)::integer from pg_class where relnamespace = pg_my_temp_schema()) end`

/**
 * Returns COMMIT for one handler's transaction and the reset of its session, as one text: a second
 * message would cost more than these statements. If the transaction has failed, COMMIT rolls back
 * and the reset still runs.
 */
export function commitAndReset(client: ClientBase, idleMs: number): string {
  const limit = `set idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}`
  // Behind a pooler, each transaction sets the limit itself.
  return ['commit', resetSession(client), ...(sessions.has(client) ? [limit] : [])].join('; ')
}

export function resetSession(client: ClientBase): string {
  return betweenJobs(client)
    .map(({ text }) => text)
    .join('; ')
}

function restored(client: ClientBase): PipelinedStatement[] {
  const { settings, role } = sessions.get(client) ?? NOTHING_SET
  const all = role === 'none' ? settings : [...settings, ['role', role] as const]
  if (all.length === 0) return []
  const calls = all.map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, false)`)
  return [plain(`select ${calls.join(', ')}`)]
}

function plain(text: string): PipelinedStatement {
  return { text, values: [] }
}

/** Quotes a string for SQL, for any setting of `standard_conforming_strings`. */
function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
