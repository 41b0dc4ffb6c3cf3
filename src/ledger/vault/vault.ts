import { randomBytes } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { Queryable } from '../driver/statement.ts'
import { addDataKey, currentDataKeys, type DataKeyRow, dataKeysById, type KeyPurpose } from './data-keys.ts'
import type { MasterKey } from './master-keys.ts'
import { type DataKey, type OpenedPayload, openPayload, unwrapKey, wrapKey } from './seal.ts'

/** A stored payload. */
export interface SealedPayload {
  readonly receiptId: string
  readonly dataKey: number
  readonly bytes: Uint8Array
}

/** The keys that seal and hash a tenant's new payloads. */
export interface TenantKeys {
  readonly payload: DataKey
  readonly hash: Buffer
}

/** Seals the payloads of a ledger, and opens them again. */
export interface Vault {
  /** The first wraps new data keys. Empty: nothing new is sealed, and nothing can be opened. */
  readonly masters: readonly MasterKey[]
  /** The keys of a tenant, if they are in memory. */
  tenantKeys(tenant: string): TenantKeys | undefined
  /** Reads the keys of a tenant. Creates them at their first use, and after one was forgotten. */
  loadTenantKeys(tenant: string): Promise<TenantKeys>
  /**
   * Each payload, or the reason why it cannot be read. Throws only if the ledger does not answer.
   */
  open(payloads: readonly SealedPayload[]): Promise<(OpenedPayload | HookonceError)[]>
  /** Throws if new payloads of a tenant could not be sealed with its key. */
  requireKeys(tenants: readonly string[]): Promise<void>
}

/**
 * How long an opened key stays in memory. For this time after a key was forgotten, another process
 * may still read payloads with it. docs/privacy.md states the number.
 */
const KEY_MS = 10_000
/** For each of the two maps. A key takes some hundred bytes. */
const MAX_KEYS = 1_000

export function openVault(
  db: Queryable,
  masters: readonly MasterKey[],
  now: () => number = () => performance.now(),
): Vault {
  const byTenant = new Map<string, TenantKeys>()
  const loading = new Map<string, Promise<TenantKeys>>()
  const byId = new Map<number, { readonly key: Buffer; readonly untilMs: number }>()

  function loadTenantKeys(tenant: string): Promise<TenantKeys> {
    // Simultaneous deliveries share one read.
    const before = loading.get(tenant)
    if (before) return before
    const load = readTenantKeys(tenant).finally(() => loading.delete(tenant))
    loading.set(tenant, load)
    return load
  }

  async function readTenantKeys(tenant: string): Promise<TenantKeys> {
    byTenant.delete(tenant)
    const payload = await currentKey(tenant, 'payload')
    const hash = await currentKey(tenant, 'hash')
    const keys = { payload, hash: hash.key }
    remember(byTenant, tenant, keys)
    return keys
  }

  async function currentKey(tenant: string, purpose: KeyPurpose): Promise<DataKey> {
    const row = (await findCurrent(tenant, purpose)) ?? (await create(tenant, purpose))
    const key = unwrapped(row)
    if (key instanceof HookonceError) throw key
    return { id: row.id, key }
  }

  async function findCurrent(tenant: string, purpose: KeyPurpose): Promise<DataKeyRow | undefined> {
    return (await currentDataKeys(db, [tenant])).find((row) => row.purpose === purpose)
  }

  async function create(tenant: string, purpose: KeyPurpose): Promise<DataKeyRow> {
    const [master] = masters
    if (!master) throw missingKey(`tenant "${tenant}" cannot get a data key without a master key`)
    const wrapped = wrapKey(randomBytes(32), master.key, { tenant, purpose })
    await addDataKey(db, { tenant, purpose, master: master.id, wrapped })
    // Another process may have been faster: its key counts.
    const row = await findCurrent(tenant, purpose)
    if (!row) throw missingKey(`the data key of tenant "${tenant}" was forgotten while it was created`)
    return row
  }

  function unwrapped(row: DataKeyRow): Buffer | HookonceError {
    const { tenant, purpose, wrapped } = row
    if (wrapped === null) {
      const at = row.forgottenAt?.toISOString()
      return new HookonceError('PAYLOAD_FORGOTTEN', `the data key of tenant "${tenant}" was dropped at ${at}`)
    }
    const master = masters.find(({ id }) => id === row.master)
    if (!master) return missingKey(whichKey(row, masters))
    try {
      return unwrapKey(wrapped, master.key, { tenant, purpose })
    } catch (error) {
      return new HookonceError('PAYLOAD_DAMAGED', `data key ${row.id} of tenant "${tenant}" was changed`, {
        cause: error,
      })
    }
  }

  async function openKeys(ids: readonly number[]): Promise<Map<number, Buffer | HookonceError>> {
    const found = new Map<number, Buffer | HookonceError>()
    for (const id of ids) {
      const known = byId.get(id)
      if (known && known.untilMs > now()) found.set(id, known.key)
    }
    const missing = ids.filter((id) => !found.has(id))
    if (missing.length === 0) return found
    const untilMs = now() + KEY_MS
    for (const row of await dataKeysById(db, missing)) {
      const key = unwrapped(row)
      found.set(row.id, key)
      if (key instanceof HookonceError) byId.delete(row.id)
      else remember(byId, row.id, { key, untilMs })
    }
    return found
  }

  return {
    masters,
    tenantKeys: (tenant) => byTenant.get(tenant),
    loadTenantKeys,
    async open(payloads) {
      const keys = await openKeys([...new Set(payloads.map(({ dataKey }) => dataKey))])
      return payloads.map((payload) => opened(payload, keys.get(payload.dataKey)))
    },
    async requireKeys(tenants) {
      const current = await currentDataKeys(db, tenants)
      // Without any master key, a forgotten tenant may continue unencrypted.
      const needed = current.filter(({ purpose }) => masters.length > 0 || purpose === 'payload')
      const locked = needed.find((row) => !masters.some(({ id }) => id === row.master))
      if (locked) throw missingKey(whichKey(locked, masters))
    },
  }
}

function opened(
  { receiptId, dataKey, bytes }: SealedPayload,
  key: Buffer | HookonceError | undefined,
): OpenedPayload | HookonceError {
  if (key instanceof HookonceError) return key
  if (key === undefined)
    return new HookonceError(
      'PAYLOAD_DAMAGED',
      `receipt ${receiptId} names data key ${dataKey}, which is missing`,
    )
  try {
    return openPayload(bytes, receiptId, { id: dataKey, key })
  } catch (error) {
    const fault = `the payload of receipt ${receiptId} was changed after it was stored`
    return new HookonceError('PAYLOAD_DAMAGED', fault, { cause: error })
  }
}

function missingKey(detail: string): HookonceError {
  return new HookonceError('ENCRYPTION_KEY_MISSING', detail)
}

/** Names keys by their ids: those are hashes, not secrets. */
function whichKey({ tenant, master }: DataKeyRow, masters: readonly MasterKey[]): string {
  const given = masters.map(({ id }) => id).join(', ') || 'none'
  return `the payloads of tenant "${tenant}" need the encryption key ${master} (given: ${given})`
}

/** Removes the oldest entry. */
function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= MAX_KEYS) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
