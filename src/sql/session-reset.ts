import type { ClientBase, Pool } from 'pg'

/*
 * User code can change the session of its connection. The ledger and the key store undo these
 * changes before another handler uses the connection.
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
const REMOVE_LEFTOVERS: readonly string[] = ['close all', 'unlisten *', 'discard temp']

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

/** The statements that undo the settings of user code, and restore the settings before it. */
type UndoSettings = (client: ClientBase) => readonly string[]

const undoIn = new WeakMap<Pool, UndoSettings>()

/** Marks a pool: `endAndReset` resets its sessions. The pools of callers are not marked. */
export function resetAtEnd(pool: Pool, undoSettings: UndoSettings): Pool {
  undoIn.set(pool, undoSettings)
  return pool
}

export function isReset(pool: Pool): boolean {
  return undoIn.has(pool)
}

interface TransactionEnd {
  readonly verb: 'commit' | 'rollback'
  /** Whether user code may have prepared a statement in SQL. */
  readonly mayHavePrepared: boolean
}

/**
 * Returns COMMIT or ROLLBACK and the reset of the session, as one text: a second message would cost
 * more than these statements, and behind a pooler it could reach another session. If the
 * transaction has failed, COMMIT rolls back and the reset still runs. If COMMIT itself fails, the
 * reset does not run: a ROLLBACK must follow.
 */
export function endAndReset(
  pool: Pool,
  client: ClientBase,
  { verb, mayHavePrepared }: TransactionEnd,
): string {
  const undoSettings = undoIn.get(pool)
  if (!undoSettings) return verb
  return [
    verb,
    ...undoSettings(client),
    ...REMOVE_LEFTOVERS,
    ...(mayHavePrepared ? [DEALLOCATE_FOREIGN] : []),
    `select ${UNLOCK}`,
  ].join('; ')
}
