/**
 * SQL that makes commits wait for the disk, whatever the settings of the session, the role or the
 * database. Durability is part of the statements that promise it, not of the server's defaults.
 *
 * Only `off` is raised, to `on`. `remote_apply`, `on` and `remote_write` are at least as strong.
 * `local` is kept: it waits for the disk of this server, and an operator chooses it to continue
 * while a standby is down.
 */
const durable = (isLocal: boolean): string =>
  `case when current_setting('synchronous_commit') = 'off'
     then set_config('synchronous_commit', 'on', ${isLocal}) end`

/** Statement for the current transaction. */
export const DURABLE = durable(true)

/** Statement for all transactions of the session. */
export const DURABLE_SESSION = durable(false)

/**
 * For the current transaction, as a query of a WITH. PostgreSQL runs it only if the statement reads
 * from `durable`.
 */
export const WITH_DURABLE = `durable as materialized (select ${DURABLE} as synchronous_commit)`
