import { createHash } from 'node:crypto'
import type { KeyId } from './store.ts'

/**
 * The identity of a key: a hash of the tenant and the key, each prefixed by its length so that ("a", "bc") and
 * ("ab", "c") differ. Stores never see the key itself, and ids are spread evenly over the nodes of any store.
 */
export function keyId(tenant: string, key: string): KeyId {
  return digest([tenant, key])
}

/** SHA-256 over parts, each prefixed by its length. */
export function digest(parts: readonly (string | Uint8Array)[]): string {
  const sha = createHash('sha256')
  for (const piece of parts.flatMap(lengthPrefixed)) sha.update(piece)
  return sha.digest('hex')
}

function lengthPrefixed(part: string | Uint8Array): Uint8Array[] {
  const bytes = typeof part === 'string' ? Buffer.from(part) : part
  const length = Buffer.allocUnsafe(8)
  length.writeBigUInt64BE(BigInt(bytes.byteLength))
  return [length, bytes]
}
