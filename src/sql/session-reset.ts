/*
 * User code can change the session of its connection. The ledger and the key store undo these
 * changes before the connection is used again.
 */

/** Undo settings. RESET SESSION AUTHORIZATION also ends SET ROLE. */
export const RESET_SETTINGS: readonly string[] = ['reset session authorization', 'reset all']

/**
 * Back to the role that ALTER ROLE … SET role gives the login, for sessions that were not
 * remembered when they opened.
 */
export const RESET_ROLE = 'reset role'

/**
 * Remove what outlives a commit: cursors WITH HOLD, channels, temporary tables. Nothing is left to
 * remove on nearly every connection. All three together then cost some ten microseconds.
 */
export const REMOVE_LEFTOVERS: readonly string[] = ['close all', 'unlisten *', 'discard temp']

/** Locks of the session outlive a rollback too, and block every other connection. */
export const UNLOCK = 'pg_advisory_unlock_all()'

/**
 * Removes statements that were prepared in SQL. Not DEALLOCATE ALL: pg would still use the
 * statements that it has prepared by protocol.
 */
export const DEALLOCATE_FOREIGN = `do $$ declare foreign_name text; begin
  for foreign_name in select name from pg_catalog.pg_prepared_statements where from_sql loop
    execute pg_catalog.format('deallocate %I', foreign_name);
  end loop;
end $$`

/** Whether a statement mentions PREPARE. It may then leave a prepared statement in the session. */
export function mentionsPrepare(text: string): boolean {
  return /\bprepare\b/i.test(text)
}
