import { timingSafeEqual } from 'node:crypto'
import type { Delivery, Refusal, Verified } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { SigningKey } from './key.ts'
import { refuse } from './refuse.ts'
import { MAX_HEADER_CHARS, signatureHeaderReader } from './signature-header.ts'
import { signedContentRenderer } from './signed-content.ts'
import { checkAge, signedAtReader } from './timestamp.ts'

/**
 * The check of a delivery: read the header, sign the same bytes with each secret, compare, then look at the date.
 * The date comes last, so that "too old" is only ever said of a genuine delivery: a wrong secret and a wrong clock
 * must not be mistaken for each other.
 */
export function verifier(
  description: CheckedDescription,
  keys: readonly SigningKey[],
  toleranceSeconds: number | 'off',
): (delivery: Delivery) => Verified | Refusal {
  const { algorithm, header: name, content: template } = description.signature
  const readHeader = signatureHeaderReader(description)
  const readSignedAt = signedAtReader(description.timestamp)
  const renderContent = signedContentRenderer(template)

  return (delivery) => {
    const header = delivery.header(name)
    if (!header) return refuse('SIGNATURE_MISSING', `the header ${name} is not there`)
    if (header.length > MAX_HEADER_CHARS) {
      return refuse('SIGNATURE_MALFORMED', `the header ${name} is longer than ${MAX_HEADER_CHARS} characters`)
    }
    const { signatures, timestamp } = readHeader(header)
    if (signatures.length === 0) {
      return refuse('SIGNATURE_MALFORMED', `the header ${name} holds no ${algorithm} signature`)
    }
    const signedAt = readSignedAt(delivery, timestamp)
    if ('ok' in signedAt) return signedAt
    const content = renderContent(delivery, signedAt.text)
    if ('ok' in content) return content

    for (const key of keys) {
      if (!isOneOf(signatures, key.hmac(content.before, delivery.body, content.after))) continue
      const stale = checkAge(signedAt.epochMs, delivery.receivedAtMs, toleranceSeconds)
      return stale ?? { ok: true, secret: key.position }
    }
    return refuse('SIGNATURE_MISMATCH', `none of ${keys.length} secret(s) made this signature`)
  }
}

// Decoding has made sure of equal lengths, which timingSafeEqual demands.
function isOneOf(signatures: readonly Buffer[], expected: Buffer): boolean {
  for (const signature of signatures) if (timingSafeEqual(signature, expected)) return true
  return false
}
