import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from 'node:crypto'

/*
 * The format of encrypted payloads and keys, with AES-256-GCM:
 *
 *   version (1 byte) · nonce (12 bytes) · ciphertext · tag (16 bytes)
 *
 * A payload has a key of its own, derived from the data key of its tenant and the id of its
 * receipt. So the number of events of a tenant is not limited by how often one key may be used with
 * random nonces. The ids are authenticated too: a payload that is copied to another row cannot be
 * opened.
 */

const ALGORITHM = 'aes-256-gcm'
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The key of payloads, and its number in the ledger. */
export interface DataKey {
  readonly id: number
  readonly key: Buffer
}

export interface Payload {
  readonly headers: string
  readonly body: Uint8Array
}

export interface OpenedPayload extends Payload {
  readonly body: Buffer
}

export function sealPayload({ headers, body }: Payload, receiptId: string, dataKey: DataKey): Buffer {
  const head = Buffer.from(headers)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(head.length)
  return encrypt([length, head, body], payloadKey(receiptId, dataKey), payloadContext(receiptId, dataKey))
}

/** Throws if the bytes were changed, or belong to another receipt or key. */
export function openPayload(sealed: Uint8Array, receiptId: string, dataKey: DataKey): OpenedPayload {
  const opened = decrypt(sealed, payloadKey(receiptId, dataKey), payloadContext(receiptId, dataKey))
  const headEnd = 4 + opened.readUInt32BE()
  return { headers: opened.toString('utf8', 4, headEnd), body: opened.subarray(headEnd) }
}

function payloadKey(receiptId: string, { key }: DataKey): Buffer {
  return createHmac('sha256', key).update(`hookonce payload ${VERSION}\n${receiptId}`).digest()
}

function payloadContext(receiptId: string, { id }: DataKey): string {
  return `hookonce receipt ${VERSION}\n${receiptId}\n${id}`
}

/** The tenant and the number of the key: authenticated, so that no key can replace another. */
export interface WrapContext {
  readonly tenant: string
  readonly purpose: string
}

export function wrapKey(key: Buffer, master: KeyObject, context: WrapContext): Buffer {
  return encrypt([key], master, wrapContext(context))
}

/** Throws if the wrapped key was changed, or belongs to another tenant. */
export function unwrapKey(wrapped: Uint8Array, master: KeyObject, context: WrapContext): Buffer {
  return decrypt(wrapped, master, wrapContext(context))
}

function wrapContext({ tenant, purpose }: WrapContext): string {
  return `hookonce data key ${VERSION}\n${purpose}\n${tenant}`
}

/**
 * The hash that detects another body under the same key. Keyed, because a short body could be
 * guessed from its plain hash. Includes the receipt's id, so that equal bodies do not show. Its
 * first byte distinguishes it from a plain SHA-256, which is one byte shorter.
 */
export function keyedHash(body: Uint8Array, receiptId: string, key: Buffer): Buffer {
  const digest = createHmac('sha256', key).update(`${receiptId}\n`).update(body).digest()
  return Buffer.concat([Buffer.of(VERSION), digest])
}

const KEYED_BYTES = 33

export function isKeyedHash(hash: Uint8Array): boolean {
  return hash.byteLength === KEYED_BYTES
}

function encrypt(parts: readonly Uint8Array[], key: Buffer | KeyObject, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(context))
  const encrypted = parts.map((part) => cipher.update(part))
  return Buffer.concat([Buffer.of(VERSION), nonce, ...encrypted, cipher.final(), cipher.getAuthTag()])
}

function decrypt(bytes: Uint8Array, key: Buffer | KeyObject, context: string): Buffer {
  if (bytes[0] !== VERSION || bytes.length < 1 + NONCE_BYTES + TAG_BYTES)
    throw new Error(`the encrypted bytes have the unknown format ${bytes[0]} (${bytes.length} bytes)`)
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
  const opened = decipher.update(bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES))
  return Buffer.concat([opened, decipher.final()])
}
