import type { NewReceipt } from '../ledger/jobs/new-work.ts'
import { keyedHash, sealPayload } from '../ledger/vault/seal.ts'
import type { TenantKeys } from '../ledger/vault/vault.ts'

/** Hashes the body of a new receipt with the key of its tenant. */
export function hashReceipt(receipt: NewReceipt, keys: TenantKeys): NewReceipt {
  return { ...receipt, keyedHash: keyedHash(receipt.body, receipt.id, keys.hash) }
}

/** Encrypts the payload of a new receipt with the key of its tenant. */
export function sealReceipt(receipt: NewReceipt, { payload }: TenantKeys): NewReceipt {
  const { id, headers, body } = receipt
  return { ...receipt, seal: { bytes: sealPayload({ headers, body }, id, payload), dataKey: payload.id } }
}
