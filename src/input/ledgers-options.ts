import { z } from 'zod'
import type { LedgersOptions } from '../model/ledger-names.ts'
import { SCHEMA_NAME, SCHEMA_NAME_RULE } from '../model/schema-name.ts'
import { strict } from './checked.ts'

/** A process opens connections to each of its ledgers. More ledgers would exhaust a server. */
const MAX_LEDGERS = 64

const count = z.int().min(1).max(MAX_LEDGERS)
const ledgerName = z.string().regex(SCHEMA_NAME, SCHEMA_NAME_RULE)
const tenantName = z.string().min(1).max(512)

const ERROR = { error: 'must be a number of ledgers, or an object such as { count: 8 }' }

/** `place` is the schema of a database address: a URL, or in a file a reference to a URL. */
function fieldsWith<Place extends z.ZodType>(place: Place) {
  return {
    count: count.describe('the number of ledgers, 1 to 64. `ledgers: 8` is short for `{ count: 8 }`'),
    placement: z
      .record(ledgerName, place)
      .default({})
      .describe('the database of a ledger that is not in `database`. `hookonce_0` is always in `database`'),
    tenants: z
      .record(tenantName, ledgerName)
      .default({})
      .describe(
        "the ledger of a tenant. Together with `placement`, this keeps a tenant's events in a region",
      ),
    /** They keep the tenants that are recorded there, and get no new ones. */
    also: z
      .array(ledgerName)
      .max(MAX_LEDGERS)
      .readonly()
      .default([])
      .describe(
        "ledgers with other names. If you began without `ledgers`, pass `also: ['hookonce']`: the tenants of that ledger stay there. Without it, hookonce refuses to start",
      ),
  }
}

const url = z.string().regex(/^postgres(ql)?:\/\//, 'must be a URL that begins with postgres://')

/** The option of hookonce() as an object. */
export const ledgersObject = strict(fieldsWith(url))

/** The option of hookonce(): a number, or an object. */
export const ledgersSchema = z.union(
  [
    count.transform((all): LedgersOptions => ({ count: all, also: [], placement: {}, tenants: {} })),
    ledgersObject,
  ],
  ERROR,
)

/** The option in a configuration file, where `placement` refers to secrets. */
export const ledgersFileSchema = z.union([count, strict(fieldsWith(z.string()))], ERROR)
