import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { hash } from '../../model/hash.ts'
import type { Delivery, Refusal } from '../contract.ts'
import type { JwtSignature } from '../signature.ts'
import { type Claims, parseToken } from './jws.ts'
import type { SigningKey } from './key.ts'
import { MAX_HEADER_CHARS } from './needed-headers.ts'
import { proofParser, signatureTexts } from './proof.ts'
import { refuse } from './refuse.ts'
import { isSameText } from './token.ts'
import type { VerifierInput, Verify } from './verify.ts'

const HASHES = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const
type Algorithm = keyof typeof HASHES

/** A token signed with the secret. Its claims state the issuer, the time and the body. */
export function jwtVerifier(input: VerifierInput<JwtSignature>): Verify {
  const { signature, keyring, endpoint, toleranceSeconds } = input
  const parse = proofParser([signature.at], input.description)
  const textsOf = signatureTexts(signature, input.description)

  return (delivery) => {
    const texts = textsOf(delivery, parse(delivery))
    if (!Array.isArray(texts)) return texts
    const [text = ''] = texts
    const token =
      text.length <= MAX_HEADER_CHARS && text.startsWith(signature.prefix)
        ? parseToken(text.slice(signature.prefix.length))
        : undefined
    if (token === undefined) return refuse('SIGNATURE_MALFORMED', 'no JSON Web Token found')
    const algorithm = signature.algorithms.find((name) => name === token.header.alg)
    // The token's own algorithm is accepted only if the provider is known to use it.
    if (algorithm === undefined)
      return refuse(
        'SIGNATURE_MALFORMED',
        `the token is not signed with ${signature.algorithms.join(' or ')}`,
      )

    for (const key of keyring.keys) {
      const expected = macOf(algorithm, key, token.signed)
      if (expected.length !== token.signature.length || !timingSafeEqual(expected, token.signature)) continue
      const fault =
        claimFault(signature, token.claims, delivery, endpoint.urlOf) ??
        ageFault(token.claims, delivery, toleranceSeconds)
      return fault ?? { ok: true, secret: key.position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured secret(s) made this token`,
    )
  }
}

function macOf(algorithm: Algorithm, { key }: SigningKey, signed: string): Buffer {
  return createHmac(HASHES[algorithm], key).update(signed).digest()
}

function claimFault(
  { issuer, bodyHash, urlHash }: JwtSignature,
  claims: Claims,
  delivery: Delivery,
  urlOf: (delivery: Delivery) => string,
): Refusal | undefined {
  if (issuer !== undefined && claims.iss !== issuer)
    return refuse('SIGNATURE_MISMATCH', `the token was not issued by ${issuer}`)
  if (bodyHash !== undefined) {
    const claimed = claims[bodyHash.claim]
    // MessageBird sends no hash for an empty body. A token made for a body has the claim.
    const isEmpty = claimed === undefined && delivery.body.length === 0
    if (
      !isEmpty &&
      (typeof claimed !== 'string' || !isSameText(claimed, hash('sha256', delivery.body, bodyHash.encoding)))
    )
      return refuse('SIGNATURE_MISMATCH', `the body does not match the claim ${bodyHash.claim}`)
  }
  if (urlHash !== undefined) {
    const claimed = claims[urlHash.claim]
    if (
      typeof claimed !== 'string' ||
      !isSameText(claimed, hash('sha256', urlOf(delivery), urlHash.encoding))
    )
      return refuse('SIGNATURE_MISMATCH', `the URL does not match the claim ${urlHash.claim}`)
  }
  return undefined
}

/**
 * `exp` and `nbf` limit the token. If both are absent, `iat` dates it. A token without a date has
 * no age limit.
 */
export function ageFault(
  { exp, nbf, iat }: Claims,
  { receivedAtMs }: Delivery,
  tolerance: number | 'off',
): Refusal | undefined {
  if (tolerance === 'off') return undefined
  const now = receivedAtMs / 1000
  if (exp !== undefined && !(typeof exp === 'number' && now <= exp + tolerance))
    return refuse('TIMESTAMP_TOO_OLD', 'the token has expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && now >= nbf - tolerance))
    return refuse('TIMESTAMP_IN_FUTURE', 'the token is not valid yet')
  if (iat === undefined) return undefined
  if (exp === undefined && !(typeof iat === 'number' && now <= iat + tolerance))
    return refuse('TIMESTAMP_TOO_OLD', `the token was issued more than ${tolerance} s before it arrived`)
  if (!(typeof iat === 'number' && now >= iat - tolerance))
    return refuse('TIMESTAMP_IN_FUTURE', `the token was issued more than ${tolerance} s after it arrived`)
  return undefined
}

/** A token in the form of the provider's tokens, for a sample. */
export function signToken(
  signature: JwtSignature,
  key: SigningKey,
  sample: { readonly body: Uint8Array; readonly url: string; readonly timestampMs: number },
): string {
  const { issuer, bodyHash, urlHash, algorithms } = signature
  const [algorithm = 'HS256'] = algorithms
  const issuedAt = Math.floor(sample.timestampMs / 1000)
  const claims = {
    ...(issuer === undefined ? {} : { iss: issuer }),
    iat: issuedAt,
    nbf: issuedAt,
    // Receivers of MessageBird require this claim.
    jti: randomUUID(),
    ...(bodyHash && { [bodyHash.claim]: hash('sha256', sample.body, bodyHash.encoding) }),
    ...(urlHash && { [urlHash.claim]: hash('sha256', sample.url, urlHash.encoding) }),
  }
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: algorithm, typ: 'JWT' })}.${part(claims)}`
  return `${signature.prefix}${signed}.${macOf(algorithm, key, signed).toString('base64url')}`
}
