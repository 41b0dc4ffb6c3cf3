import { type KeyObject, verify } from 'node:crypto'
import { parseJsonText } from './payload.ts'

export type Claims = Readonly<Record<string, unknown>>

/** An unverified JSON Web Token. */
export interface Token {
  readonly header: Claims
  readonly claims: Claims
  readonly signed: string
  readonly signature: Buffer
}

export function parseToken(text: string): Token | undefined {
  const token = splitToken(text)
  const claims = token && parsePart(token.payload)
  return token && claims && { ...token, claims }
}

/**
 * A token with unparsed claims. If the token is the body, an unverified sender controls their size.
 */
export interface SplitToken extends Omit<Token, 'claims'> {
  readonly payload: string
}

// Enough for algorithm, type and key id.
const MAX_HEADER_CHARS = 4096

export function splitToken(text: string): SplitToken | undefined {
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(text)
  if (parts === null) return undefined
  const [, head = '', payload = '', proof = ''] = parts
  const header = head.length > MAX_HEADER_CHARS ? undefined : parsePart(head)
  const signature = decodePart(proof)
  if (header === undefined || signature === undefined) return undefined
  return { header, payload, signed: `${head}.${payload}`, signature }
}

export function parsePart(part: string): Claims | undefined {
  return parseJsonText(Buffer.from(part, 'base64url').toString('utf8')) as Claims | undefined
}

/** Accepts only the canonical spelling: the unused bits of the last character could vary. */
export function decodePart(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : undefined
}

const ALGORITHMS = {
  EdDSA: { hash: null, type: 'ed25519', curve: undefined },
  ES256: { hash: 'sha256', type: 'ec', curve: 'prime256v1' },
  ES384: { hash: 'sha384', type: 'ec', curve: 'secp384r1' },
  ES512: { hash: 'sha512', type: 'ec', curve: 'secp521r1' },
  RS256: { hash: 'sha256', type: 'rsa', curve: undefined },
  RS384: { hash: 'sha384', type: 'rsa', curve: undefined },
  RS512: { hash: 'sha512', type: 'rsa', curve: undefined },
} as const

export type JwsAlgorithm = keyof typeof ALGORITHMS

/** The token's algorithm, if this provider is known to use it. */
export function algorithmOf(header: Claims, known: readonly JwsAlgorithm[]): JwsAlgorithm | undefined {
  return known.find((algorithm) => algorithm === header.alg)
}

/**
 * Whether this public key made the signature with this algorithm. A key of another kind never
 * matches.
 */
export function isSignedBy(
  key: KeyObject,
  algorithm: JwsAlgorithm,
  signed: string | Uint8Array,
  signature: Uint8Array,
): boolean {
  const { hash, type, curve } = ALGORITHMS[algorithm]
  if (key.asymmetricKeyType !== type || key.asymmetricKeyDetails?.namedCurve !== curve) return false
  return verify(hash, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, signature)
}
