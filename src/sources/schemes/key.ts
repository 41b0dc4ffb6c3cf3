import { createSecretKey } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { CheckedDescription } from '../description.ts'
import type { PlacedSecret } from '../options.ts'
import { type Hmac, hmacOf } from './hmac.ts'

/** A secret made ready to sign with. A function shows nothing of itself when it is printed. */
export interface SigningKey {
  readonly hmac: Hmac
  readonly position: number
}

const HASH = { 'hmac-sha1': 'sha1', 'hmac-sha256': 'sha256', 'hmac-sha512': 'sha512' } as const

/** Turns the text of a secret into the key, as this provider reads it. */
export function signingKey(description: CheckedDescription, secret: PlacedSecret): SigningKey {
  const { secretEncoding, secretPrefix } = description.signature
  const text = secret.text.startsWith(secretPrefix) ? secret.text.slice(secretPrefix.length) : secret.text
  const bytes = decoders[secretEncoding](text)
  if (bytes === undefined || bytes.length === 0) {
    const written = secretPrefix === '' ? secretEncoding : `${secretPrefix}<${secretEncoding}>`
    throw new HookonceError(
      'CONFIG_INVALID',
      `${description.provider}: secret: number ${secret.position} is not ${written}; copy it as the provider shows it`,
    )
  }
  const hash = HASH[description.signature.algorithm]
  return { hmac: hmacOf(hash, createSecretKey(bytes)), position: secret.position }
}

// Buffer.from skips what it cannot decode: a mistyped secret would become a shorter key, so the text is checked.
const decoders = {
  utf8: (text: string) => Buffer.from(text, 'utf8'),
  base64: (text: string) =>
    /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1
      ? Buffer.from(text, 'base64')
      : undefined,
  hex: (text: string) => (/^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : undefined),
}
