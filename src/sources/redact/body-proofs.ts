import type { CheckedDescription } from '../description.ts'

/*
 * Headers that are computed from the body: signatures, digests, checksums, its length. Next to a
 * redacted body they reveal a hidden value: an attacker who knows the rest of the body can try all
 * card numbers. Checking a guess against a plain hash or a public-key signature needs no secret. The
 * original length minus the stored length is the length of the hidden value. These headers are also
 * useless, because they do not fit the redacted body.
 */

/** `x-hub-signature-256`, `content-digest`, `plaid-verification`, `content-length`, … */
const OF_BODY =
  /(^|[-_])(sig|sign|signature|signatures|hmac|digest|hash|checksum|verification|md5|sha\d*|crc\w*|etag|length|size|range)($|[-_]|\d)/

/** Whether a header is computed from the body. `name` is in lower case. */
export function isProofOfBody(name: string): boolean {
  return OF_BODY.test(name)
}

/** `name` is in lower case. */
export function bodyProofs({ signature, event }: CheckedDescription): (name: string) => boolean {
  const declared = 'header' in signature && signature.header !== undefined ? [signature.header].flat() : []
  const proofs = new Set(declared.map((name) => name.toLowerCase()))
  // Jobs read the identity of an event from its stored headers again.
  const needed = new Set(
    [...JSON.stringify(event).matchAll(/header:([\w!#$%&'*+.^`|~-]+)/g)].map(([, name = '']) =>
      name.toLowerCase(),
    ),
  )
  return (name) => (proofs.has(name) || isProofOfBody(name)) && !needed.has(name)
}
