import { type Signature, secretHeaders } from '../signature.ts'
import type { SigningKey } from './key.ts'
import type { Keyring } from './keyring.ts'

// Shorter secrets would be found in headers that have nothing to do with them.
const MIN_SECRET_CHARS = 8

/**
 * Tells which headers hold the secret itself, where the provider sends it along: the header that
 * carries it, and any that repeats it, as proxies copy a URL with a token into a header. Undefined
 * where no delivery carries the secret.
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

/** The secrets as a header may hold them, made once for each set of keys. */
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
