import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { CheckedDescription } from '../description.ts'
import type { PlacedSecret } from '../options.ts'
import { type DigestSignature, isDigest, type Signature, takesPublicKey } from '../signature.ts'

/** A secret prepared for verification. A KeyObject reveals nothing when it is printed. */
export interface SigningKey {
  readonly key: KeyObject
  /**
   * For a provider with public keys, if the configured secret is a private key. Only the sender in
   * a test has a private key.
   */
  readonly privateKey?: KeyObject
  readonly position: number
  /**
   * Reads the same secret in another way, for diagnosis. Undefined if it cannot be read that way.
   */
  readAs?(reading: SecretFormat): KeyObject | undefined
}

export interface SecretFormat {
  readonly secretEncoding: keyof typeof decoders
  readonly secretPrefix: string
  /** Whether to remove surrounding quotes. */
  readonly quoted?: boolean
  /** Text to append to the secret. */
  readonly ending?: string
}

/** Converts the text of a secret to the provider's key. */
export function signingKey(description: CheckedDescription, secret: PlacedSecret): SigningKey {
  const { signature, provider } = description
  if (takesPublicKey(signature)) return publicKey(provider, kindOf(signature), secret)
  const asymmetric = isDigest(signature) ? signature.asymmetric : undefined
  if (asymmetric && isAsymmetric(asymmetric, secret.text)) return ed25519Key(provider, asymmetric, secret)
  const { secretEncoding, secretPrefix } = {
    secretEncoding: 'utf8' as const,
    secretPrefix: '',
    ...signature,
  }
  const bytes = secretBytes(secret.text, { secretEncoding, secretPrefix })
  if (bytes === undefined) {
    const written = secretPrefix === '' ? secretEncoding : `${secretPrefix}<${secretEncoding}>`
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret ${secret.position} is not ${written}; copy it as the provider shows it`,
    )
  }
  return {
    key: createSecretKey(bytes),
    position: secret.position,
    readAs(reading) {
      const text = reading.quoted ? secret.text.replace(/^(["'])(.*)\1$/s, '$2') : secret.text
      const other = secretBytes(text + (reading.ending ?? ''), reading)
      return other && createSecretKey(other)
    },
  }
}

type Asymmetric = NonNullable<DigestSignature['asymmetric']>

function isAsymmetric({ publicPrefix, privatePrefix }: Asymmetric, text: string): boolean {
  return [publicPrefix, privatePrefix, '-----BEGIN'].some((start) => text.startsWith(start))
}

/**
 * `whpk_<base64>` with the 32 bytes of the public key, `whsk_<base64>` with the private key, or a
 * PEM of either.
 */
function ed25519Key(provider: string, asymmetric: Asymmetric, secret: PlacedSecret): SigningKey {
  const { text, position } = secret
  if (text.startsWith('-----BEGIN')) return publicKey(provider, 'Ed25519', secret)
  const { publicPrefix, privatePrefix } = asymmetric
  const isPrivate = text.startsWith(privatePrefix)
  const bytes = decoders.base64(text.slice((isPrivate ? privatePrefix : publicPrefix).length))
  // A private key of 64 bytes contains the public key in its second half.
  if (bytes?.length !== 32 && !(isPrivate && bytes?.length === 64))
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret ${position} is not ${isPrivate ? privatePrefix : publicPrefix}<base64> of an Ed25519 key; copy it as the provider shows it`,
    )
  if (!isPrivate) return { key: spkiKey(Buffer.concat([ED25519_SPKI, bytes])), position }
  const der = Buffer.concat([ED25519_PKCS8, bytes.subarray(0, 32)])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return { key: createPublicKey(privateKey), privateKey, position }
}

function spkiKey(der: Buffer): KeyObject {
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

function secretBytes(secret: string, { secretEncoding, secretPrefix }: SecretFormat): Buffer | undefined {
  const text = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret
  const bytes = decoders[secretEncoding](text)
  return bytes === undefined || bytes.length === 0 ? undefined : bytes
}

// Buffer.from skips characters that it cannot decode, so a mistyped secret would become a shorter
// key. So the text is checked.
const decoders = {
  utf8: (text: string) => Buffer.from(text, 'utf8'),
  // Compatibility characters become plain ones, as in EasyPost's libraries.
  'utf8-nfkd': (text: string) => Buffer.from(text.normalize('NFKD'), 'utf8'),
  base64: (text: string) =>
    /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1
      ? Buffer.from(text, 'base64')
      : undefined,
  hex: (text: string) => (/^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : undefined),
}

/**
 * A public key as the provider shows it: PEM, DER in base64, or the 32 bytes of an Ed25519 key in
 * hex or base64.
 */
function publicKey(provider: string, wanted: KeyKind, secret: PlacedSecret): SigningKey {
  const read = readPublicKey(provider, secret)
  // A key of another kind would make node:crypto throw at every delivery.
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = read.key
  if (type === KEY_KINDS[wanted].type && details?.namedCurve === KEY_KINDS[wanted].curve) return read
  const kind = [type, details?.namedCurve].filter(Boolean).join(' ')
  throw new HookonceError(
    'CONFIG_INVALID',
    `${provider}: secret ${secret.position} is a key of the kind ${kind}; this provider signs with ${wanted}: copy its public key`,
  )
}

const KEY_KINDS = {
  Ed25519: { type: 'ed25519', curve: undefined },
  'ECDSA P-256': { type: 'ec', curve: 'prime256v1' },
  RSA: { type: 'rsa', curve: undefined },
} as const
type KeyKind = keyof typeof KEY_KINDS

function kindOf({ algorithm }: Signature): KeyKind {
  if (algorithm === 'ed25519') return 'Ed25519'
  // Coded providers with a public key use RSA: Wix, Paddle Classic.
  return algorithm === 'ecdsa-p256-sha256' ? 'ECDSA P-256' : 'RSA'
}

function readPublicKey(provider: string, { text, position }: PlacedSecret): SigningKey {
  try {
    if (text.includes('PRIVATE KEY')) {
      const privateKey = createPrivateKey(text)
      return { key: createPublicKey(privateKey), privateKey, position }
    }
    if (text.includes('-----BEGIN')) return { key: createPublicKey(text), position }
    const bytes = decoders.hex(text) ?? decoders.base64(text) ?? Buffer.alloc(0)
    const der = bytes.length === 32 ? Buffer.concat([ED25519_SPKI, bytes]) : bytes
    return { key: spkiKey(der), position }
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret ${position} is not a public key; copy it as the provider shows it`,
      { cause: error },
    )
  }
}

// The DER prefix of an Ed25519 key: its algorithm and its length.
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
