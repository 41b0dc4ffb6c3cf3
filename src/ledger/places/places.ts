import type { Pool, PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { inTransaction } from '../driver/in-transaction.ts'
import { schemaOf } from '../driver/schema.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'
import { TenantMoved } from './intake.ts'

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
  /** The ledger in which rows of it are left after a move. */
  readonly movedFrom: string | null
  readonly changedAt: Date
}

const COLUMNS =
  'tenant, ledger, moving_to as "movingTo", moved_from as "movedFrom", changed_at as "changedAt"'

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
  `insert into ledger.tenant_place (tenant, ledger, moving_to, moved_from, left_at)
   values ($1, $2, $3, $4, case when $5 = 'leaves' then now() end)
   on conflict (tenant) do update
   set ledger = excluded.ledger, moving_to = excluded.moving_to, moved_from = excluded.moved_from, changed_at = excluded.changed_at,
     left_at = case $5 when 'leaves' then excluded.left_at when 'arrives' then null else tenant_place.left_at end`,
)

export interface PlaceChange extends Pick<TenantPlace, 'tenant' | 'ledger'> {
  readonly movingTo?: string
  readonly movedFrom?: string
  /** Whether the tenant leaves the ledger that records this, or arrives there. */
  readonly here?: 'leaves' | 'arrives'
}

/** Overwrites the record of one tenant. Only a move may do this. */
export async function changePlace(
  db: Queryable,
  { tenant, ledger, movingTo, movedFrom, here }: PlaceChange,
): Promise<void> {
  await change(db, CHANGE_PLACE, [tenant, ledger, movingTo ?? null, movedFrom ?? null, here ?? ''])
}

/** A place in the home ledger, as a move has read it. */
export interface MarkedPlace extends TenantPlace {
  /** Every change of the record replaces it. */
  readonly mark: string
}

const MARKED_PLACE = statement(
  'marked_tenant_place',
  `select ${COLUMNS}, extract(epoch from changed_at)::text as mark
   from ledger.tenant_place where tenant = $1 for update`,
)

export async function markedPlace(db: Queryable, tenant: string): Promise<MarkedPlace | undefined> {
  const [place] = await rows<MarkedPlace>(db, MARKED_PLACE, [tenant])
  return place
}

/**
 * Changes a place that was read before. Throws if the record was changed since: another command
 * moves the tenant, or has cancelled this move.
 */
export async function replacePlaceIn(
  client: PoolClient,
  read: MarkedPlace,
  next: Omit<PlaceChange, 'tenant'>,
): Promise<MarkedPlace> {
  const { tenant } = read
  requireSame(read, await markedPlace(client, tenant))
  await changePlace(client, { tenant, ...next })
  const changed = await markedPlace(client, tenant)
  if (!changed) throw new Error(`the place of tenant "${tenant}" was not recorded`)
  return changed
}

export function replacePlace(
  pool: Pool,
  read: MarkedPlace,
  next: Omit<PlaceChange, 'tenant'>,
): Promise<MarkedPlace> {
  return inTransaction(pool, async (client) => {
    const changed = await replacePlaceIn(client, read, next)
    await client.query('commit')
    return changed
  })
}

/** Throws if the record was changed since it was read. */
export async function requireUnchanged(db: Queryable, read: MarkedPlace): Promise<void> {
  requireSame(read, await markedPlace(db, read.tenant))
}

function requireSame(read: MarkedPlace, now: MarkedPlace | undefined): void {
  if (now?.mark !== read.mark) throw new PlaceChanged(read.tenant)
}

/** Another command moves the tenant, or has cancelled its move. */
export class PlaceChanged extends HookonceError {
  constructor(tenant: string) {
    super(
      'CONFIG_INVALID',
      `another command has continued or cancelled the move of tenant "${tenant}"; wait for that command, and see \`hookonce ledgers\``,
    )
  }
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
  const moved = places.find(({ ledger, movingTo }) => ledger !== name || movingTo !== null)
  if (moved) throw new TenantMoved(moved.tenant, moved.ledger)
}
