/** The default schema of a ledger. */
export const DEFAULT_SCHEMA = 'hookonce'

/**
 * Names that need no quotes, short enough for the names that are derived from them: PostgreSQL cuts
 * names after 63 bytes.
 */
export const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,29}$/

export const SCHEMA_NAME_RULE =
  'a schema name is 1 to 30 lower-case letters, digits and "_", and begins with no digit'
