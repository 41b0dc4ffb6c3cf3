import type { CheckedDescription } from '../description.ts'
import type { SecretReading } from '../schemes/key.ts'
import type { Keyring } from '../schemes/keyring.ts'
import { isPublicKey } from '../signature.ts'
import type { Alternative } from './alternatives.ts'

/** The same secrets, read another way: decoded or not, with their prefix or without it. */
export function* otherSecrets({ signature }: CheckedDescription, { keys }: Keyring): Iterable<Alternative> {
  if (isPublicKey(signature.algorithm)) return
  const own = {
    secretEncoding: 'utf8' as SecretReading['secretEncoding'],
    secretPrefix: '',
    ...signature,
  }
  for (const reading of readings(own)) {
    const read = keys.flatMap((key) => {
      const other = key.readAs?.(reading)
      return other === undefined || other.equals(key.key) ? [] : [{ key: other, position: key.position }]
    })
    if (read.length > 0) yield { says: told(reading, own), coding: { keyring: { keys: read } }, cost: 0 }
  }
}

function readings(own: SecretReading): SecretReading[] {
  const prefixes = [...new Set([own.secretPrefix, '', 'whsec_'])]
  const encodings = ['utf8', 'base64', 'hex'] as const
  return [
    ...encodings.flatMap((secretEncoding) =>
      prefixes.map((secretPrefix) => ({ secretEncoding, secretPrefix })),
    ),
    { ...own, quoted: true },
  ]
}

function told(reading: SecretReading, own: SecretReading): string {
  if (reading.quoted) return 'the secret was configured with quotes around it: leave them out'
  const as = (one: SecretReading): string =>
    `${one.secretEncoding === 'utf8' ? 'as text' : `decoded from ${one.secretEncoding}`}${one.secretPrefix === '' ? '' : `, without its prefix ${one.secretPrefix}`}`
  return `the secret is right, but read the wrong way: the signature was made with it ${as(reading)}, and this source takes it ${as(own)}`
}
