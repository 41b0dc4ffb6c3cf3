import pg from 'pg'
import { setSchema } from '../ledger/driver/schema.ts'
import { checkedUrl } from '../ledger/ledger.ts'
import { migrate } from '../ledger/migrations/migrate.ts'
import { openFailure } from '../ledger/open-failure.ts'
import { type CitusNode, distribute, moveToNode, nodeOf } from '../ledger/places/citus.ts'
import { ledgerNumber, separateIds } from '../ledger/places/id-range.ts'
import { ALL_TENANTS, type AuditEntry, recordAudit } from '../ledger/read/audit.ts'
import { allLedgerNames, type LedgersOptions } from '../model/ledger-names.ts'
import { quietPool } from '../sql/quiet-pool.ts'
import { type DecisionReason, requireReason } from './audit.ts'

interface MigrationTarget {
  /** The number of one of several ledgers. */
  readonly number?: number | undefined
  /** Whether Citus gets the schema, to place it on a node. */
  readonly isDistributed?: boolean
}

/** Brings the schema of a database up to date. Returns the names of the migrations it applied. */
export function migrateDatabase(
  database: string,
  schema: string,
  target: MigrationTarget = {},
): Promise<string[]> {
  return onLedger(database, schema, (pool) => migrateLedger(pool, target))
}

async function migrateLedger(
  pool: pg.Pool,
  { number, isDistributed = false }: MigrationTarget,
): Promise<string[]> {
  const applied = await migrate(pool)
  if (number !== undefined && applied.length > 0) await separateIds(pool, number)
  if (isDistributed) await distribute(pool)
  return applied
}

interface AddedLedger extends MigrationTarget {
  readonly database: string
  readonly ledger: string
}

/** Creates a ledger. Its own audit records the decision, because no process uses it yet. */
export function addLedger(
  { database, ledger, ...target }: AddedLedger,
  reason: DecisionReason,
): Promise<string[]> {
  return onLedger(database, ledger, async (pool) => {
    const applied = await migrateLedger(pool, target)
    if (applied.length > 0)
      await recordAudit(pool, entryOf(reason, { action: 'add-ledger', subject: ledger, detail: {} }))
    return applied
  })
}

function entryOf(
  { by: actor, why, address }: DecisionReason,
  decision: Pick<AuditEntry, 'action' | 'subject' | 'detail'>,
): AuditEntry {
  return { ...decision, actor, why, address, tenant: ALL_TENANTS }
}

/** Whether Citus has distributed this ledger. */
export function isOnCitus(database: string, ledger: string): Promise<boolean> {
  return onLedger(database, ledger, async (pool) => (await nodeOf(pool)) !== undefined)
}

interface LedgerMove {
  readonly database: string
  readonly ledger: string
  readonly node: CitusNode
}

/** Moves a ledger to another node of its Citus cluster, while it is used. */
export async function moveLedger(
  { database, ledger, node }: LedgerMove,
  reason: DecisionReason,
): Promise<void> {
  requireReason(reason, 'a move')
  await onLedger(database, ledger, async (pool) => {
    const from = await nodeOf(pool)
    // The audit entry is recorded first, so that no move is without one. `moveToNode` refuses a
    // ledger that is on no node.
    if (from) {
      const detail = { from: addressOf(from), to: addressOf(node) }
      await recordAudit(pool, entryOf(reason, { action: 'move-ledger', subject: ledger, detail }))
    }
    await moveToNode(pool, node)
  })
}

function addressOf({ host, port }: CitusNode): string {
  return `${host}:${port}`
}

/** Runs work on a connection without a response timeout: a large ledger takes long. */
function onLedger<Result>(
  database: string,
  schema: string,
  work: (pool: pg.Pool) => Promise<Result>,
): Promise<Result> {
  return onDatabase(database, async (url) => {
    const pool = quietPool(
      new pg.Pool({ connectionString: url, max: 1, application_name: 'hookonce migrate' }),
    )
    try {
      return await work(setSchema(pool, schema))
    } finally {
      await pool.end()
    }
  })
}

export interface MigratedLedger {
  readonly ledger: string
  readonly applied: readonly string[]
}

/** Brings several ledgers up to date, one after the other. Creates ledgers that do not exist. */
export async function migrateLedgers(
  database: string,
  schema: string,
  ledgers: LedgersOptions,
  { isDistributed = false }: Pick<MigrationTarget, 'isDistributed'> = {},
): Promise<MigratedLedger[]> {
  const migrated: MigratedLedger[] = []
  for (const ledger of allLedgerNames(schema, ledgers)) {
    const applied = await migrateDatabase(ledgers.placement[ledger] ?? database, ledger, {
      number: ledgers.also.includes(ledger) ? undefined : ledgerNumber(ledger),
      isDistributed,
    })
    migrated.push({ ledger, applied })
  }
  return migrated
}

/** Checks the URL. If the database cannot be reached, throws an error of the catalogue. */
export async function onDatabase<Result>(
  database: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const url = checkedUrl(database)
  try {
    return await work(url)
  } catch (error) {
    throw openFailure(error, url)
  }
}
