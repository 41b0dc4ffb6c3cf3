import { HookonceError } from '../../model/errors.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { schemaOf } from '../driver/schema.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'

/*
 * In which ledger a tenant lives. The home ledger records every tenant. Each ledger records its own
 * tenants as well, so that a process may work while the home ledger is down.
 */

export interface TenantPlace {
  readonly tenant: string
  /** The name of the ledger. */
  readonly ledger: string
  /** The ledger to which the tenant is being moved. */
  readonly movingTo: string | null
  readonly changedAt: Date
}

const COLUMNS = 'tenant, ledger, moving_to as "movingTo", changed_at as "changedAt"'

const PLACES = statement(
  'tenant_places',
  `select ${COLUMNS} from ledger.tenant_place where $1::text[] is null or tenant = any ($1) order by tenant`,
)

/** All places that this ledger records, or those of some tenants. */
export function readPlaces(db: Queryable, tenants?: readonly string[]): Promise<TenantPlace[]> {
  return rows<TenantPlace>(db, PLACES, [tenants ?? null])
}

/* The first record stays: two processes that start at once must agree. */
const RECORD_PLACES = statement(
  'record_tenant_places',
  `insert into ledger.tenant_place (tenant, ledger)
   select * from unnest($1::text[], $2::text[])
   on conflict (tenant) do nothing`,
)

/** Records tenants that have no place yet. Returns the places that count, for all of them. */
export async function recordPlaces(
  db: Queryable,
  places: ReadonlyMap<string, string>,
): Promise<TenantPlace[]> {
  const tenants = [...places.keys()]
  await change(db, RECORD_PLACES, [tenants, [...places.values()]])
  return readPlaces(db, tenants)
}

const CHANGE_PLACE = statement(
  'change_tenant_place',
  `insert into ledger.tenant_place (tenant, ledger, moving_to) values ($1, $2, $3)
   on conflict (tenant) do update
   set ledger = excluded.ledger, moving_to = excluded.moving_to, changed_at = now()`,
)

/** Overwrites the record of one tenant. Only a move may do this. */
export async function changePlace(
  db: Queryable,
  { tenant, ledger, movingTo }: Pick<TenantPlace, 'tenant' | 'ledger' | 'movingTo'>,
): Promise<void> {
  await change(db, CHANGE_PLACE, [tenant, ledger, movingTo])
}

const KNOWN_TENANTS = statement(
  'ledger_tenants',
  `select distinct tenant from ledger.source where $1::text[] is null or tenant = any ($1) order by tenant`,
)

/** Tenants whose sources are registered in this ledger. */
export async function tenantsIn(db: Queryable, tenants?: readonly string[]): Promise<string[]> {
  return (await rows<{ tenant: string }>(db, KNOWN_TENANTS, [tenants ?? null])).map(({ tenant }) => tenant)
}

/**
 * Confirms in the ledger itself that these tenants live there, and records it. A tenant that was
 * moved away is an error: this process has read an outdated place.
 */
export async function confirmPlaces({ pool }: LedgerTables, tenants: readonly string[]): Promise<void> {
  const name = schemaOf(pool)
  const places = await inTransaction(pool, async (client) => {
    const recorded = await recordPlaces(client, new Map(tenants.map((tenant) => [tenant, name])))
    await client.query('commit')
    return recorded
  })
  const moved = places.find(({ ledger }) => ledger !== name)
  if (moved) throw new TenantMoved(moved.tenant, moved.ledger)
}

/** The tenant does not live in this ledger any more. */
export class TenantMoved extends HookonceError {
  readonly tenant: string

  constructor(tenant: string, ledger: string) {
    super('TENANT_MOVED', `tenant "${tenant}" was moved to the ledger ${ledger}`)
    this.tenant = tenant
  }
}
