import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { CheckedDescription } from '../description.ts'
import type { PlacedSecret } from '../options.ts'
import { isPublicKey } from '../signature.ts'

/** A secret made ready to verify with. A KeyObject shows nothing of itself when it is printed. */
export interface SigningKey {
  readonly key: KeyObject
  /** Of a provider with public keys, where the secret that was given is a private one: only a test's sender has it. */
  readonly privateKey?: KeyObject
  readonly position: number
}

/** Turns the text of a secret into the key, as this provider reads it. */
export function signingKey(description: CheckedDescription, secret: PlacedSecret): SigningKey {
  const { signature, provider } = description
  if (isPublicKey(signature.algorithm)) return publicKey(provider, secret)
  const { secretEncoding, secretPrefix } = {
    secretEncoding: 'utf8' as const,
    secretPrefix: '',
    ...signature,
  }
  const text = secret.text.startsWith(secretPrefix) ? secret.text.slice(secretPrefix.length) : secret.text
  const bytes = decoders[secretEncoding](text)
  if (bytes === undefined || bytes.length === 0) {
    const written = secretPrefix === '' ? secretEncoding : `${secretPrefix}<${secretEncoding}>`
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret: number ${secret.position} is not ${written}; copy it as the provider shows it`,
    )
  }
  return { key: createSecretKey(bytes), position: secret.position }
}

// Buffer.from skips what it cannot decode: a mistyped secret would become a shorter key, so the text is checked.
const decoders = {
  utf8: (text: string) => Buffer.from(text, 'utf8'),
  // Compatibility forms of characters become the plain ones, as EasyPost's libraries do.
  'utf8-nfkd': (text: string) => Buffer.from(text.normalize('NFKD'), 'utf8'),
  base64: (text: string) =>
    /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1
      ? Buffer.from(text, 'base64')
      : undefined,
  hex: (text: string) => (/^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : undefined),
}

/** PEM, DER in base64, or the 32 bytes of an Ed25519 key in hex or base64: however the provider shows it. */
function publicKey(provider: string, { text, position }: PlacedSecret): SigningKey {
  try {
    if (text.includes('PRIVATE KEY')) {
      const privateKey = createPrivateKey(text)
      return { key: createPublicKey(privateKey), privateKey, position }
    }
    if (text.includes('-----BEGIN')) return { key: createPublicKey(text), position }
    const bytes = decoders.hex(text) ?? decoders.base64(text) ?? Buffer.alloc(0)
    const der = bytes.length === 32 ? Buffer.concat([ED25519_SPKI, bytes]) : bytes
    return { key: createPublicKey({ key: der, format: 'der', type: 'spki' }), position }
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${provider}: secret: number ${position} is not a public key; copy it as the provider shows it`,
      { cause: error },
    )
  }
}

// What DER puts before the bytes of an Ed25519 key: its algorithm and its length.
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex')
