import type { CheckedDescription } from '../description.ts'
import type { SecretFormat } from '../schemes/key.ts'
import type { Keyring } from '../schemes/keyring.ts'
import { isPublicKey, type Signature } from '../signature.ts'
import type { Alternative } from './alternatives.ts'

/** The same secrets, read differently: decoded or not, with or without their prefix. */
export function* otherSecrets({ signature }: CheckedDescription, { keys }: Keyring): Iterable<Alternative> {
  if (isPublicKey(signature.algorithm)) return
  const own = readingOf(signature)
  for (const reading of readings(own)) {
    const read = keys.flatMap((key) => {
      const other = key.readAs?.(reading)
      return other === undefined || other.equals(key.key) ? [] : [{ key: other, position: key.position }]
    })
    if (read.length > 0)
      yield { diagnosis: diagnosisOf(reading, own), input: { keyring: { keys: read } }, cost: 0 }
  }
}

/** How a provider reads its secrets. */
export function readingOf(signature: Signature): SecretFormat {
  const { secretEncoding, secretPrefix } = {
    secretEncoding: 'utf8' as SecretFormat['secretEncoding'],
    secretPrefix: '',
    ...signature,
  }
  return { secretEncoding, secretPrefix }
}

/** Characters that a file or a form may append to a secret. */
const ENDINGS = { '\n': 'a line break (LF)', '\r\n': 'a line break (CR LF)', ' ': 'a space' } as const

function readings(own: SecretFormat): SecretFormat[] {
  const prefixes = [...new Set([own.secretPrefix, '', 'whsec_'])]
  const encodings = ['utf8', 'base64', 'hex'] as const
  return [
    ...encodings.flatMap((secretEncoding) =>
      prefixes.map((secretPrefix) => ({ secretEncoding, secretPrefix })),
    ),
    { ...own, quoted: true },
    ...Object.keys(ENDINGS).map((ending) => ({ ...own, ending })),
  ]
}

function diagnosisOf(reading: SecretFormat, own: SecretFormat): string {
  const ending = Object.entries(ENDINGS).find(([text]) => text === reading.ending)?.[1]
  if (ending !== undefined)
    return `the secret at the sender ends with ${ending}; set it there again, without it`
  if (reading.quoted) return 'the configured secret has quotes around it; remove them'
  const as = (one: SecretFormat): string =>
    `${one.secretEncoding === 'utf8' ? 'as text' : `decoded from ${one.secretEncoding}`}${one.secretPrefix === '' ? '' : `, without its prefix ${one.secretPrefix}`}`
  return `the secret is right, but its encoding is not: the sender uses it ${as(reading)}, this source uses it ${as(own)}`
}
