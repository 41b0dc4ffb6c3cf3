import { hash } from 'node:crypto'

/**
 * A receipt's id is the event's identity: the first 16 bytes of SHA-256 over tenant, source and event key, each
 * prefixed by its length so that ("a", "bc") and ("ab", "c") differ. The same event has the same id on every
 * node and in every replay, and it is known before anything is stored; the primary key on it is what makes an
 * event be recorded once.
 */
export function receiptIds(tenant: string, source: string): (eventKey: string) => string {
  const scope = Buffer.concat([lengthPrefixed(tenant), lengthPrefixed(source)])
  return (eventKey) => uuid(hash('sha256', Buffer.concat([scope, lengthPrefixed(eventKey)]), 'hex'))
}

/** The shard leads every primary key, so that the ledger can be distributed. */
export function shardOf(receiptId: string, shards: number): number {
  return Number.parseInt(receiptId.slice(0, 2), 16) % shards
}

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const out = Buffer.allocUnsafe(4 + bytes)
  out.writeUInt32BE(bytes, 0)
  out.write(text, 4)
  return out
}

function uuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
