import { type Signature, secretHeaders } from '../signature.ts'
import type { SigningKey } from './key.ts'
import type { Keyring } from './keyring.ts'

// Shorter secrets would match unrelated headers.
const MIN_SECRET_CHARS = 8

/**
 * Finds headers that contain the secret, if the provider sends the secret: the header that carries
 * it, and any copy, such as a URL with a token that a proxy put into a header. Undefined if no
 * delivery carries the secret.
 */
export function withholder(
  signature: Signature,
  keyring: Keyring,
): ((name: string, value: string) => boolean) | undefined {
  if (signature.algorithm !== 'token' && signature.algorithm !== 'basic') return undefined
  const names = new Set(secretHeaders(signature))
  const secretTexts = textsOfKeys()
  return (name, value) =>
    names.has(name.toLowerCase()) || secretTexts(keyring.keys).some((text) => value.includes(text))
}

/** The secrets in the forms that a header may contain, computed once per set of keys. */
function textsOfKeys(): (keys: readonly SigningKey[]) => readonly string[] {
  let known: readonly SigningKey[] | undefined
  let texts: readonly string[] = []
  return (keys) => {
    if (keys === known) return texts
    known = keys
    texts = keys
      .map(({ key }) => key.export().toString())
      .filter((text) => text.length >= MIN_SECRET_CHARS)
      .flatMap((text) => [...new Set([text, encodeURIComponent(text)])])
    return texts
  }
}
