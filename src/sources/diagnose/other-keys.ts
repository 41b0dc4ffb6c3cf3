import type { CheckedDescription } from '../description.ts'
import type { SigningKey } from '../schemes/key.ts'
import type { Keyring } from '../schemes/keyring.ts'
import { takesPublicKey } from '../signature.ts'
import type { Alternative } from './alternatives.ts'
import { readingOf } from './secrets.ts'

/** The keys of another source. */
export interface OtherKeys {
  readonly name: string
  readonly keys: readonly SigningKey[]
}

/** This many keys are tried together. The position of the matching key identifies its owner. */
const KEYS_PER_TRIAL = 8

/**
 * Tries the secrets of the other sources with this source's scheme, because secrets are easily
 * swapped in a configuration.
 */
export function* keysOfOthers(
  { signature }: CheckedDescription,
  { keys }: Keyring,
  others: readonly OtherKeys[],
): Iterable<Alternative> {
  const type = takesPublicKey(signature) ? 'public' : 'secret'
  const reading = readingOf(signature)
  const owners: string[] = []
  const candidates = others.flatMap(({ name, keys: otherKeys }) =>
    otherKeys.flatMap((other) => {
      const key = type === 'public' ? other.key : other.readAs?.(reading)
      const isFit = key?.type === type && key.asymmetricKeyType === keys[0]?.key.asymmetricKeyType
      if (!key || !isFit || keys.some((own) => own.key.equals(key))) return []
      return [{ key, position: owners.push(name) }]
    }),
  )
  for (let at = 0; at < candidates.length; at += KEYS_PER_TRIAL) {
    yield {
      diagnosis: (secret) =>
        `the signature was made with the secret of the source "${owners[secret - 1]}"; check whether the two secrets are swapped`,
      input: { keyring: { keys: candidates.slice(at, at + KEYS_PER_TRIAL) } },
    }
  }
}
