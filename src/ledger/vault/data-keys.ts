import * as binary from '../driver/binary.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

export type KeyPurpose = 'payload' | 'hash'

/** A stored data key. */
export interface DataKeyRow {
  readonly id: number
  readonly tenant: string
  readonly purpose: KeyPurpose
  /** The id of the master key that wraps it. */
  readonly master: string
  /** Null: forgotten. */
  readonly wrapped: Buffer | null
  readonly createdAt: Date
  readonly forgottenAt: Date | null
}

const COLUMNS = `k.id, k.tenant, k.purpose, k.master, k.wrapped, k.created_at as "createdAt",
     k.forgotten_at as "forgottenAt"`

const CURRENT_KEYS = statement(
  'current_data_keys',
  `select ${COLUMNS} from ledger.data_key k where k.tenant = any($1::text[]) and k.wrapped is not null`,
)

/** The keys that these tenants use now. */
export async function currentDataKeys(db: Queryable, tenants: readonly string[]): Promise<DataKeyRow[]> {
  return rows(db, CURRENT_KEYS, [tenants])
}

const KEYS_BY_ID = statement(
  'data_keys',
  `select ${COLUMNS} from ledger.data_key k where k.id = any($1::integer[])`,
)

export async function dataKeysById(db: Queryable, ids: readonly number[]): Promise<DataKeyRow[]> {
  return rows(db, KEYS_BY_ID, [binary.integers(ids)])
}

/* If two processes add the first key of a tenant, one of them adds nothing. */
const ADD_KEY = statement(
  'add_data_key',
  `insert into ledger.data_key (tenant, purpose, master, wrapped) values ($1, $2, $3, $4)
   on conflict (tenant, purpose) where wrapped is not null do nothing`,
)

export async function addDataKey(
  db: Queryable,
  key: {
    readonly tenant: string
    readonly purpose: KeyPurpose
    readonly master: string
    readonly wrapped: Buffer
  },
): Promise<void> {
  await change(db, ADD_KEY, [key.tenant, key.purpose, key.master, key.wrapped])
}

/*
 * The row stays, so that readers can distinguish a forgotten key from a damaged ledger. Call it in
 * a transaction of the ledger, whose commit waits for the disk: a crash must not bring the key
 * back.
 */
const FORGET_KEYS = statement(
  'forget_data_keys',
  `update ledger.data_key set wrapped = null, forgotten_at = now()
   where tenant = $1 and purpose = any($2::text[]) and wrapped is not null
   returning id`,
)

/** Returns the numbers of the forgotten keys. */
export async function forgetDataKeys(
  db: Queryable,
  tenant: string,
  purposes: readonly KeyPurpose[],
): Promise<number[]> {
  const forgotten = await rows<{ id: number }>(db, FORGET_KEYS, [tenant, purposes])
  return forgotten.map(({ id }) => id)
}

const LIST_KEYS = statement(
  'list_data_keys',
  `select ${COLUMNS} from ledger.data_key k where k.id > $1::integer order by k.id limit $2::integer`,
)

/** In the order of their numbers, beginning after one of them. */
export async function listDataKeys(db: Queryable, after: number, limit: number): Promise<DataKeyRow[]> {
  return rows(db, LIST_KEYS, [after, limit])
}

/*
 * Only if it is still wrapped as it was read: a key that was forgotten meanwhile stays forgotten.
 */
const REWRAP_KEY = statement(
  'rewrap_data_key',
  `update ledger.data_key set master = $2, wrapped = $3 where id = $1::integer and wrapped = $4`,
)

export async function rewrapDataKey(
  db: Queryable,
  key: { readonly id: number; readonly master: string; readonly wrapped: Buffer; readonly before: Buffer },
): Promise<boolean> {
  return (await change(db, REWRAP_KEY, [key.id, key.master, key.wrapped, key.before])) === 1
}
