import { createHash } from 'node:crypto'
import { hash } from '../model/hash.ts'
import type { KeyId } from './store.ts'

/**
 * The identity of a key: a hash of the tenant and the key. Each part is prefixed by its length, so
 * that ("a", "bc") and ("ab", "c") differ. Stores never see the key itself, and ids spread evenly
 * over the nodes of any store.
 */
export function keyId(tenant: string, key: string): KeyId {
  return digest([tenant, key])
}

/** Up to this size, copying into one buffer is cheaper than creating a hash object. */
const ONE_SHOT_BYTES = 16 * 1024
const LENGTH_BYTES = 8

/** Shared between calls: it is filled and hashed synchronously. */
const scratch = Buffer.allocUnsafeSlow(ONE_SHOT_BYTES)

/** SHA-256 over the parts, each prefixed by its length. */
export function digest(parts: readonly (string | Uint8Array)[]): string {
  let size = 0
  for (const part of parts) size += LENGTH_BYTES + Buffer.byteLength(part)
  if (size > ONE_SHOT_BYTES) return incremental(parts)
  let at = 0
  for (const part of parts) {
    const start = at + LENGTH_BYTES
    let length = part.length
    if (typeof part === 'string') length = scratch.write(part, start)
    else scratch.set(part, start)
    writeLength(scratch, length, at)
    at = start + length
  }
  return hash('sha256', scratch.subarray(0, size), 'hex')
}

function incremental(parts: readonly (string | Uint8Array)[]): string {
  const sha = createHash('sha256')
  const length = Buffer.alloc(LENGTH_BYTES)
  for (const part of parts) {
    writeLength(length, Buffer.byteLength(part), 0)
    sha.update(length).update(part)
  }
  return sha.digest('hex')
}

function writeLength(out: Buffer, length: number, at: number): void {
  out.writeUInt16BE(0, at)
  out.writeUIntBE(length, at + 2, 6)
}
