import { hash } from './hash.ts'

/**
 * A receipt's id is the event's identity: the first 16 bytes of SHA-256 over tenant, source and
 * event key, each prefixed by its length so that ("a", "bc") and ("ab", "c") differ. The same event
 * has the same id on every node and in every replay, and the id is known before anything is stored.
 * The primary key on it ensures that an event is recorded once.
 */
export function receiptIds(tenant: string, source: string): (eventKey: string) => string {
  const scope = Buffer.concat([lengthPrefixed(tenant), lengthPrefixed(source)])
  // Reused for each key: the prefix that all keys share is already written.
  const scratch = Buffer.alloc(scope.length + 4 + SHORT_KEY_BYTES)
  scope.copy(scratch)
  return (eventKey) => {
    if (eventKey.length * 3 > SHORT_KEY_BYTES) return uuid(Buffer.concat([scope, lengthPrefixed(eventKey)]))
    const written = scratch.write(eventKey, scope.length + 4)
    scratch.writeUInt32BE(written, scope.length)
    return uuid(scratch.subarray(0, scope.length + 4 + written))
  }
}

/** The id of an object that a tenant and a user's name identify: an effect or an entity. */
export function scopedId(...parts: readonly string[]): string {
  return uuid(Buffer.concat(parts.map(lengthPrefixed)))
}

/** The event keys of providers are far shorter. */
const SHORT_KEY_BYTES = 768

/** The shard leads every primary key, so that the ledger can be distributed. */
export function shardOf(receiptId: string, shards: number): number {
  return (16 * hexDigit(receiptId.charCodeAt(0)) + hexDigit(receiptId.charCodeAt(1))) % shards
}

function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : code - 87
}

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const out = Buffer.allocUnsafe(4 + bytes)
  out.writeUInt32BE(bytes, 0)
  out.write(text, 4)
  return out
}

function uuid(identity: Buffer): string {
  const hex = hash('sha256', identity, 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
