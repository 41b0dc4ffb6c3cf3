import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { ALL_TENANTS, recordAudit } from '../ledger/read/audit.ts'
import { type DataKeyRow, forgetDataKeys, listDataKeys, rewrapDataKey } from '../ledger/vault/data-keys.ts'
import type { MasterKey } from '../ledger/vault/master-keys.ts'
import { unwrapKey, wrapKey } from '../ledger/vault/seal.ts'
import { HookonceError } from '../model/errors.ts'
import { everywhere, inEvery, whereRowsOf } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'

/** A tenant's data key. Its bytes never leave the ledger. */
export interface ListedDataKey {
  readonly id: number
  readonly tenant: string
  readonly purpose: 'payload' | 'hash'
  /** The id of the master key that wraps it. */
  readonly master: string
  readonly createdAt: Date
  readonly forgottenAt: Date | null
  /** Whether a key of this process can open it. */
  readonly isOpen: boolean
}

const PAGE = 500

/** All data keys, in the order of their numbers. Numbers repeat in several ledgers. */
export const listEncryptionKeys = everywhere(
  async (ledger: LedgerTables) => {
    const keys: ListedDataKey[] = []
    for (let page = await keyPage(ledger, 0); page.length > 0; ) {
      keys.push(...page)
      page = await keyPage(ledger, page.at(-1)?.id ?? 0)
    }
    return keys
  },
  (all) => all.flat(),
)

/** A page of data keys, beginning after the one with this number. */
async function keyPage({ pool, vault }: LedgerTables, after: number): Promise<ListedDataKey[]> {
  const found = await listDataKeys(pool, after, PAGE)
  return found.map(({ wrapped, ...key }) => ({
    ...key,
    isOpen: wrapped !== null && vault?.masters.some(({ id }) => id === key.master) === true,
  }))
}

export interface Rotated {
  /** The master key that now wraps every data key. */
  readonly master: string
  /** Data keys that another master key wrapped before. */
  readonly rewrapped: number
}

async function rotateIn(ledger: LedgerTables, reason: DecisionReason): Promise<Rotated> {
  requireReason(reason, 'a rotation')
  const masters = ledger.vault?.masters ?? []
  const [first] = masters
  if (!first)
    throw new HookonceError('ENCRYPTION_KEY_MISSING', 'a rotation needs the new key and the old one')
  return inTransaction(ledger.pool, async (client) => {
    let rewrapped = 0
    let page: DataKeyRow[] = []
    do {
      page = await listDataKeys(client, page.at(-1)?.id ?? 0, PAGE)
      for (const row of page) if (await rewrap(client, row, { first, masters })) rewrapped += 1
    } while (page.length === PAGE)
    const detail = { master: first.id, rewrapped }
    const { by: actor, why } = reason
    await recordAudit(client, {
      actor,
      action: 'rotate-encryption',
      why,
      tenant: ALL_TENANTS,
      subject: first.id,
      detail,
    })
    await client.query('commit')
    return detail
  })
}

/**
 * Wraps every data key by the first configured master key. Payloads are not rewritten. Throws
 * before any change of a ledger if one of its data keys cannot be opened.
 */
export const rotateEncryption = inEvery(rotateIn, (all) => ({
  master: all[0]?.master ?? '',
  rewrapped: all.reduce((sum, { rewrapped }) => sum + rewrapped, 0),
}))

interface Masters {
  /** Wraps every data key with the new master key. */
  readonly first: MasterKey
  readonly masters: readonly MasterKey[]
}

/** Returns whether the key was wrapped by another master key before. */
async function rewrap(client: PoolClient, row: DataKeyRow, { first, masters }: Masters): Promise<boolean> {
  const { id, tenant, purpose, master, wrapped: before } = row
  if (before === null || master === first.id) return false
  const old = masters.find((one) => one.id === master)
  if (!old) {
    const fault = `the data key of tenant "${tenant}" is wrapped by the key ${master}, which is not configured`
    throw new HookonceError('ENCRYPTION_KEY_MISSING', fault)
  }
  const wrapped = wrapKey(unwrapKey(before, old.key, { tenant, purpose }), first.key, { tenant, purpose })
  return rewrapDataKey(client, { id, master: first.id, wrapped, before })
}

export interface Forgotten {
  readonly tenant: string
  /** The numbers of the data keys that were dropped. */
  readonly dataKeys: readonly number[]
}

export interface ForgetRequest {
  readonly tenant: string
  /**
   * Also drops the key of the body hashes. Needed if the master key is lost. Repeated deliveries of
   * older events are still recognised, but each counts as a mismatch.
   */
  readonly hashes?: boolean
}

async function forgetIn(
  { pool }: LedgerTables,
  { tenant, hashes = false }: ForgetRequest,
  reason: DecisionReason,
): Promise<Forgotten> {
  requireReason(reason, 'forgetting a tenant')
  return inTransaction(pool, async (client) => {
    const dataKeys = await forgetDataKeys(client, tenant, hashes ? ['payload', 'hash'] : ['payload'])
    if (dataKeys.length === 0) return { tenant, dataKeys }
    const { by: actor, why } = reason
    await recordAudit(client, {
      actor,
      action: 'forget-tenant',
      why,
      tenant,
      subject: tenant,
      detail: { dataKeys },
    })
    await client.query('commit')
    return { tenant, dataKeys }
  })
}

/**
 * Drops the data key of a tenant, for good: its encrypted payloads cannot be read again. Event keys
 * and hashes stay, so repeats are still recognised. New events of the tenant get a new key. During a
 * move, the copies of the key are dropped too.
 */
export const forgetTenant = whereRowsOf(([{ tenant }]) => tenant, forgetIn, mergeForgotten)

/** A move keeps the numbers of the keys, so two ledgers may name the same ones. */
function mergeForgotten(
  all: readonly Forgotten[],
  [{ tenant }]: readonly [ForgetRequest, unknown],
): Forgotten {
  const dataKeys = [...new Set(all.flatMap((one) => one.dataKeys))]
  if (dataKeys.length > 0) return { tenant, dataKeys }
  const fault = `tenant "${tenant}" has no data key; \`hookonce encryption\` lists the tenants that have one`
  throw new HookonceError('CONFIG_INVALID', fault)
}
