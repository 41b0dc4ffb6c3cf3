/** The schema of a ledger, unless its owner gives it another name. */
export const DEFAULT_SCHEMA = 'hookonce'

/**
 * Names that need no quotes, and leave room for the names that are made from them: PostgreSQL cuts
 * names after 63 bytes.
 */
export const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,29}$/

export const SCHEMA_NAME_RULE =
  'a schema name is 1 to 30 lower-case letters, digits and "_", and begins with no digit'
