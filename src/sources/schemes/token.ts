import { createHash, timingSafeEqual } from 'node:crypto'
import type { TokenSignature } from '../signature.ts'
import { MAX_HEADER_CHARS } from './needed-headers.ts'
import { proofParser, type SignaturePlace, signatureTexts } from './proof.ts'
import { refuse } from './refuse.ts'
import type { VerifierInput, Verify } from './verify.ts'

/** The delivery contains the secret itself. Compares it in constant time. */
export function tokenVerifier({
  signature,
  keyring,
  description,
}: Pick<VerifierInput<TokenSignature>, 'signature' | 'keyring' | 'description'>): Verify {
  const place: SignaturePlace = signature.algorithm === 'basic' ? { header: 'authorization' } : signature
  const parse = proofParser([place.at], description)
  const textsOf = signatureTexts(place, description)
  return (delivery) => {
    const texts = textsOf(delivery, parse(delivery))
    if (!Array.isArray(texts)) return texts
    if (texts.some((text) => text.length > MAX_HEADER_CHARS))
      return refuse('SIGNATURE_MALFORMED', `the token is longer than ${MAX_HEADER_CHARS} characters`)
    for (const { key, position } of keyring.keys) {
      const expected = tokenText(signature, key.export().toString())
      if (texts.some((text) => isSameText(text, expected))) return { ok: true, secret: position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `the token is none of the ${keyring.keys.length} configured secret(s)`,
    )
  }
}

/** The secret as it is sent. */
export function tokenText(signature: TokenSignature, secret: string): string {
  if (signature.algorithm === 'basic') return `Basic ${Buffer.from(secret).toString('base64')}`
  return signature.prefix + secret
}

/**
 * Compares hashes: timingSafeEqual requires equal lengths, and the length of a secret must not
 * leak.
 */
export function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
