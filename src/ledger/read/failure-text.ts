/*
 * How failures are compared: by functions of the ledger (migration 0016), because its trigger uses
 * them too. The groups of `failures` and the filter `error` must agree.
 */

/**
 * The fingerprint of a job's reason, the same for all failures of one kind: 16 hexadecimal digits.
 */
export const FINGERPRINT = (reason: string): string =>
  `ledger.failure_fingerprint(ledger.failure_text(${reason}))`

/** Whether a reason has this fingerprint, or contains this pattern of LIKE. Null: any reason. */
export const HAS_ERROR = (reason: string, parameter: string): string =>
  `(case when ${parameter}::text is null then true
       when ${parameter}::text ~ '^[0-9a-f]{16}$' then ${FINGERPRINT(reason)} = ${parameter}::text
       else coalesce(${reason} ilike ${parameter}::text, false) end)`
