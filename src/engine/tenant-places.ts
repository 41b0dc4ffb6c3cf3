import { viewOf } from '../ledger/driver/schema.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { readPlaces, recordPlaces, tenantsIn } from '../ledger/places/places.ts'
import { hasTable } from '../ledger/read/schema.ts'
import { HookonceError } from '../model/errors.ts'
import { allLedgerNames, hashedLedger, type LedgersOptions, ledgerNames } from '../model/ledger-names.ts'
import { isDown } from '../operate/across.ts'

/*
 * Finds the ledger of each tenant:
 *
 *   recorded in the home ledger → known to a ledger of `also` → its entry in `tenants` → its hash
 *
 * The result is recorded before it is used. An entry that contradicts the record is an error: a
 * tenant moves only by `hookonce ledgers move`. While the home ledger is down, a ledger that
 * records a tenant as its own is enough. While a ledger of `also` is down, which may know a new
 * tenant, only new tenants wait.
 */

export interface PlacesQuestion {
  readonly schema: string
  readonly ledgers: LedgersOptions
  readonly tenants: readonly string[]
  /** Opens a ledger. */
  tables(name: string): Promise<LedgerTables>
  /** Called with new tenants that cannot be placed while a ledger of `also` is down. */
  onUnplaced(tenants: readonly string[], error: unknown): void
}

/** The name of the ledger of each tenant. A tenant without an entry cannot be placed now. */
export type Places = ReadonlyMap<string, string>

/** Throws if no tenant can be placed, or the configuration contradicts the record. */
export async function findPlaces(question: PlacesQuestion): Promise<Places> {
  const { schema, ledgers } = question
  const home = ledgerNames(schema, ledgers.count)[0] ?? schema
  let tables: LedgerTables
  try {
    tables = await question.tables(home)
  } catch (error) {
    const own = await placesWithoutHome(question)
    if (own.size === 0) throw error
    return checked(own, question)
  }
  const places = await readPlaces(tables.pool, question.tenants)
  // A tenant that is being moved lives nowhere until the switch.
  const recorded = new Map(
    places.flatMap(({ tenant, ledger, movingTo }) => (movingTo === null ? [[tenant, ledger] as const] : [])),
  )
  const missing = question.tenants.filter((tenant) => !places.some((place) => place.tenant === tenant))
  checked(recorded, question)
  if (missing.length === 0) return recorded
  await refuseForgottenLedger(tables, { schema, ledgers, missing })
  const chosen = await firstPlaces(question, missing).catch((error: unknown) => {
    if (recorded.size === 0 || !isDown(error)) throw error
    question.onUnplaced(missing, error)
    return new Map<string, string>()
  })
  for (const { tenant, ledger } of await recordPlaces(tables.pool, chosen)) recorded.set(tenant, ledger)
  return checked(recorded, question)
}

/** Reads the tenants that every reachable ledger records as its own. */
async function placesWithoutHome({ schema, ledgers, tenants, tables }: PlacesQuestion): Promise<Places> {
  const found = new Map<string, string>()
  await Promise.allSettled(
    allLedgerNames(schema, ledgers).map(async (name) => {
      const places = await readPlaces((await tables(name)).pool, tenants)
      for (const { tenant, ledger, movingTo } of places)
        if (ledger === name && movingTo === null) found.set(tenant, name)
    }),
  )
  return found
}

/** The places of tenants that the home ledger does not record. */
async function firstPlaces(
  { schema, ledgers, tables }: PlacesQuestion,
  missing: readonly string[],
): Promise<Places> {
  const names = ledgerNames(schema, ledgers.count)
  const places = new Map(
    missing.map((tenant) => [tenant, ledgers.tenants[tenant] ?? hashedLedger(tenant, names)]),
  )
  // A ledger that existed before `ledgers` was set keeps its tenants.
  for (const name of ledgers.also)
    for (const tenant of await tenantsIn((await tables(name)).pool, missing)) places.set(tenant, name)
  return places
}

interface NewTenants extends Pick<PlacesQuestion, 'schema' | 'ledgers'> {
  readonly missing: readonly string[]
}

/**
 * Without `ledgers`, the ledger had the name of the schema. If that ledger were not found, its
 * events would take effect again in another ledger.
 */
async function refuseForgottenLedger(
  { pool }: LedgerTables,
  { schema, ledgers, missing }: NewTenants,
): Promise<void> {
  if (ledgers.also.includes(schema) || !(await hasTable(pool, `"${schema}".source`))) return
  const [tenant] = await tenantsIn(viewOf(pool, schema), missing)
  if (tenant === undefined) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `ledgers: the ledger "${schema}" in this database already has events of tenant "${tenant}", which would take effect again in another ledger; pass also: ['${schema}'] to keep its tenants there`,
  )
}

function checked<Found extends Places>(found: Found, { schema, ledgers }: PlacesQuestion): Found {
  const names = allLedgerNames(schema, ledgers)
  for (const [tenant, ledger] of found) {
    const wanted = ledgers.tenants[tenant]
    if (wanted !== undefined && wanted !== ledger)
      throw new HookonceError(
        'CONFIG_INVALID',
        `ledgers.tenants.${tenant}: the tenant lives in the ledger ${ledger}, not in ${wanted}; run \`hookonce ledgers move ${tenant} ${wanted}\` first, or correct the entry`,
      )
    if (!names.includes(ledger))
      throw new HookonceError(
        'CONFIG_INVALID',
        `ledgers: tenant "${tenant}" lives in the ledger ${ledger}, which is not configured; raise \`count\`, or name the ledger in \`also\``,
      )
  }
  return found
}
