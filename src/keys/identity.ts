import { createHash, hash } from 'node:crypto'
import type { KeyId } from './store.ts'

/**
 * The identity of a key: a hash of the tenant and the key, each prefixed by its length so that ("a", "bc") and
 * ("ab", "c") differ. Stores never see the key itself, and ids are spread evenly over the nodes of any store.
 */
export function keyId(tenant: string, key: string): KeyId {
  return digest([tenant, key])
}

/** Up to here, copying into one buffer costs less than a hash object does. */
const ONE_SHOT_BYTES = 16 * 1024
const LENGTH_BYTES = 8

/** SHA-256 over parts, each prefixed by its length. */
export function digest(parts: readonly (string | Uint8Array)[]): string {
  const pieces = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const prefixed = pieces.flatMap((piece) => [lengthOf(piece), piece])
  const size = pieces.reduce((sum, piece) => sum + LENGTH_BYTES + piece.length, 0)
  if (size <= ONE_SHOT_BYTES) return hash('sha256', Buffer.concat(prefixed, size), 'hex')
  const sha = createHash('sha256')
  for (const piece of prefixed) sha.update(piece)
  return sha.digest('hex')
}

function lengthOf(bytes: Uint8Array): Uint8Array {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUIntBE(bytes.length, 2, 6)
  return length
}
