import {
  createHash,
  createSign,
  createVerify,
  type KeyObject,
  sign as signWhole,
  timingSafeEqual,
  verify as verifyWhole,
} from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { DigestSignature } from '../signature.ts'
import { type Hmac, hmacOf } from './hmac.ts'
import type { SigningKey } from './key.ts'
import type { SignedContent } from './signed-content.ts'

/** One way to sign bytes: text before, body, text after. */
interface Digest {
  /** The length of a signature. Undefined if it varies. */
  readonly bytes: number | undefined
  /** Whether this key made one of these signatures. */
  matches(key: SigningKey, content: SignedContent, body: Uint8Array, signatures: readonly Buffer[]): boolean
  make(key: SigningKey, content: SignedContent, body: Uint8Array): Buffer
}

const HASH_BYTES = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const
type Hash = keyof typeof HASH_BYTES

export function digester(algorithm: DigestSignature['algorithm']): Digest {
  if (algorithm === 'ed25519') return ed25519
  if (algorithm === 'ecdsa-p256-sha256') return asymmetric('sha256')
  if (algorithm.startsWith('rsa-')) return asymmetric(algorithm.slice('rsa-'.length))
  if (algorithm.startsWith('hmac-')) return hmac(algorithm.slice('hmac-'.length) as Hash)
  return plainHash(algorithm as Hash)
}

function hmac(hash: Hash): Digest {
  // The pads of a key are computed once, and garbage-collected with a rotated key.
  const made = new WeakMap<KeyObject, Hmac>()
  return symmetric(hash, ({ key }, { before, after }, body) => {
    let sign = made.get(key)
    if (sign === undefined) {
      sign = hmacOf(hash, key)
      made.set(key, sign)
    }
    return sign(before, body, after)
  })
}

/** In this scheme the secret is part of the content. */
function plainHash(hash: Hash): Digest {
  return symmetric(hash, (_key, { before, after }, body) =>
    createHash(hash).update(before, 'latin1').update(body).update(after, 'latin1').digest(),
  )
}

function symmetric(hash: Hash, make: Digest['make']): Digest {
  return {
    bytes: HASH_BYTES[hash],
    make,
    matches: (key, content, body, signatures) => isOneOf(signatures, make(key, content, body)),
  }
}

// Decoding has ensured equal lengths, which timingSafeEqual requires.
function isOneOf(signatures: readonly Buffer[], expected: Buffer): boolean {
  for (const signature of signatures) if (timingSafeEqual(signature, expected)) return true
  return false
}

function asymmetric(hash: string): Digest {
  return {
    bytes: undefined,
    matches: ({ key }, { before, after }, body, signatures) =>
      signatures.some((signature) =>
        createVerify(hash)
          .update(before, 'latin1')
          .update(body)
          .update(after, 'latin1')
          .verify(key, signature),
      ),
    make: (key, { before, after }, body) =>
      createSign(hash).update(before, 'latin1').update(body).update(after, 'latin1').sign(privateKeyOf(key)),
  }
}

const ed25519: Digest = {
  bytes: 64,
  matches({ key }, content, body, signatures) {
    const signed = whole(content, body)
    return signatures.some((signature) => verifyWhole(null, signed, key, signature))
  },
  make: (key, content, body) => signWhole(null, whole(content, body), privateKeyOf(key)),
}

// Ed25519 hashes its input twice, so it needs the input in one piece.
function whole({ before, after }: SignedContent, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(before, 'latin1'), body, Buffer.from(after, 'latin1')])
}

export function privateKeyOf({ privateKey }: SigningKey) {
  if (privateKey !== undefined) return privateKey
  throw new HookonceError(
    'CONFIG_INVALID',
    'only the provider has its private key; to sign in a test, pass your own private key (PEM, or whsk_… for Standard Webhooks) as `secret`',
  )
}
