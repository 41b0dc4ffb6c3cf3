import type { ClientBase, Pool } from 'pg'
import { DURABLE } from '../../sql/durable.ts'
import type { PipelinedStatement } from './pipeline.ts'

/*
 * What user code leaves behind in the session of a connection: settings, roles, temporary tables
 * and locks. Statements, functions and triggers can all change them, with or without SET LOCAL, and
 * nothing reports it. So the engine never looks for changes: it resets the session, after each job
 * of a shared transaction and before each commit.
 *
 * All of it happens inside the transaction, so that it also holds behind a pooler in transaction
 * mode.
 */

/**
 * How a session was when its connection was opened, where that differs from what RESET restores.
 */
interface Session {
  /** SET by the pool's `onConnect`, or by us. */
  readonly settings: readonly (readonly [name: string, value: string])[]
  /** `none`, or the role that the login or `onConnect` has set. */
  readonly role: string
}

const NOTHING_SET: Session = { settings: [], role: 'none' }

const sessions = new WeakMap<ClientBase, Session>()
const resetPools = new WeakSet<Pool>()

/* Settings of extensions that are not loaded (app.tenant) are not listed by pg_settings. */
const OPENED = `select current_setting('role') as role,
  coalesce((select json_agg(json_build_array(name, setting)) from pg_settings
    where source = 'session' and name <> 'idle_in_transaction_session_timeout'), '[]') as settings`

/**
 * Has the sessions of this pool reset after user code. `remember` is false behind a pooler, which
 * mixes sessions.
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
 * Between two jobs of one transaction. RESET SESSION AUTHORIZATION also ends SET ROLE. These two
 * are all that is needed on nearly every connection: each statement here is paid for by every job.
 */
export function betweenJobs(client: ClientBase): PipelinedStatement[] {
  return [
    plain('reset session authorization'),
    plain('reset all'),
    // To the role that the login has from ALTER ROLE … SET role, where nothing was remembered.
    ...(sessions.has(client) ? restored(client) : [plain('reset role')]),
  ]
}

interface Closing {
  /** Of the transaction's connection: RESET ALL has forgotten it. */
  readonly idleMs: number
  /** Whether the transaction is one job's own. */
  readonly isAlone: boolean
}

/**
 * After the last job, before what the engine itself records and before COMMIT. Deferred triggers
 * run here, as they could otherwise change settings during COMMIT. A temporary table may have
 * hidden a table from other jobs of the transaction: then nothing is committed, and the jobs must
 * be run one by one.
 */
export function afterJobs(client: ClientBase, { idleMs, isAlone }: Closing): PipelinedStatement[] {
  const limit = `set_config('idle_in_transaction_session_timeout', $1, $2::boolean)`
  return [
    plain('set constraints all immediate'),
    ...betweenJobs(client),
    ...(isAlone ? [plain('discard temp')] : []),
    {
      text: `select ${DURABLE}, ${limit}, pg_advisory_unlock_all()${isAlone ? '' : `, ${NO_TEMPORARY_TABLES}`}`,
      values: [String(Math.ceil(idleMs)), sessions.get(client) === undefined],
    },
  ]
}

/*
 * Fails with a division by zero. Most sessions have no schema for temporary tables, and nothing is
 * looked up.
 */
const NO_TEMPORARY_TABLES = `case when pg_my_temp_schema() <> 0 then
     1 / (select (count(*) = 0)::integer from pg_class where relnamespace = pg_my_temp_schema()) end`

/**
 * COMMIT of a transaction of one handler, and the reset of its session, as one text: another
 * message would cost the transaction more than all of these statements. If the transaction has
 * failed, COMMIT rolls back, and the rest follows.
 */
export function commitAndReset(client: ClientBase, idleMs: number): string {
  const limit = `set idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}`
  // Behind a pooler the limit is set in each transaction.
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

/** As a text of SQL, whatever `standard_conforming_strings` says. */
function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
