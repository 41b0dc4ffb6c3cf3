import type { ClientBase, Pool } from 'pg'
import { DURABLE } from '../../sql/durable.ts'
import {
  DEALLOCATE_FOREIGN,
  RESET_ROLE,
  RESET_SETTINGS,
  resetAtEnd,
  UNLOCK,
} from '../../sql/session-reset.ts'
import type { PipelinedStatement } from './pipeline.ts'

/*
 * User code can change the session of its connection: settings, roles, temporary tables and locks.
 * Statements, functions and triggers can all do this, with or without SET LOCAL, and PostgreSQL
 * does not report it. So the engine does not look for changes. It resets the session after each job
 * of a shared transaction, and at the end of each transaction.
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

/* pg_settings does not list settings of extensions that are not loaded, such as app.tenant. */
const OPENED = `select current_setting('role') as role,
  coalesce((select json_agg(json_build_array(name, setting)) from pg_settings
    where source = 'session' and name <> 'idle_in_transaction_session_timeout'), '[]') as settings`

interface ResetTerms {
  /** False behind a pooler, which mixes sessions. */
  readonly remember: boolean
  /** The idle limit of the connections, to be set again after RESET ALL. */
  readonly idleMs: number
}

/** Marks this pool: its sessions are reset after user code ran. */
export function resetSessions(pool: Pool, { remember, idleMs }: ResetTerms): Pool {
  const limit = `set idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}`
  resetAtEnd(pool, (client) => [
    resetSession(client),
    // Behind a pooler, each transaction sets the limit itself.
    ...(sessions.has(client) ? [limit] : []),
  ])
  if (!remember) return pool
  const { onConnect } = pool.options
  pool.options.onConnect = async (client) => {
    await onConnect?.(client)
    const result = await client.query(OPENED)
    sessions.set(client, result.rows[0] ?? NOTHING_SET)
  }
  return pool
}

/**
 * Statements between two jobs of one transaction. Two statements are enough on nearly every
 * connection. Keep it that way: every job pays for each of them.
 */
export function betweenJobs(client: ClientBase): PipelinedStatement[] {
  return [...RESET_SETTINGS.map(plain), ...(sessions.has(client) ? restored(client) : [plain(RESET_ROLE)])]
}

/**
 * Statements before a job that is committed alone. They remove what earlier jobs may have left in
 * the session and RESET does not: cursors, values of sequences, and statements that were prepared
 * in SQL. A job that fails after these has failed by itself.
 */
export function beforeAlone(): PipelinedStatement[] {
  return [plain('close all'), plain('discard sequences'), plain('unlisten *'), plain(DEALLOCATE_FOREIGN)]
}

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
      text: `select ${DURABLE}, ${limit}, ${UNLOCK}${isAlone ? '' : `, ${NO_TEMPORARY_TABLES}`}`,
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
