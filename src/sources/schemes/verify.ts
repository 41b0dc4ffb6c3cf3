import type { Delivery, Refusal, Verified } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { placeholdersOf } from '../places.ts'
import type { DigestSignature } from '../signature.ts'
import { digester } from './digest.ts'
import type { Endpoint } from './endpoint.ts'
import type { SigningKey } from './key.ts'
import type { Keyring } from './keyring.ts'
import { MAX_HEADER_CHARS } from './needed-headers.ts'
import { isInBody, proofParser, signatureTexts } from './proof.ts'
import { refuse } from './refuse.ts'
import { signatureHeaderReader } from './signature-header.ts'
import { signedContentRenderer } from './signed-content.ts'
import { checkAge, signedAtReader } from './timestamp.ts'

export type Verify = (delivery: Delivery) => Verified | Refusal

/** The input of a verifier. */
export interface VerifierInput<Signature = CheckedDescription['signature']> {
  readonly description: CheckedDescription
  readonly signature: Signature
  readonly keyring: Keyring
  readonly endpoint: Endpoint
  readonly toleranceSeconds: number | 'off'
}

const NO_BODY = new Uint8Array()

/**
 * Verifies a delivery: reads the header, signs the same bytes with each secret, compares, then
 * checks the date. The date comes last, so that only a genuine delivery is reported as too old, and
 * a wrong secret does not look like a wrong clock.
 */
export function digestVerifier(input: VerifierInput<DigestSignature>): Verify {
  const { description, signature, keyring, endpoint, toleranceSeconds } = input
  const { algorithm } = signature
  const textsOf = signatureTexts(signature, description)
  const readHeader = signatureHeaderReader(signature, description.timestamp)
  const readSignedAt = signedAtReader(description)
  const renderContent = signedContentRenderer(signature.content, description, endpoint)
  const parse = proofParser(
    [signature.at, description.timestamp?.at, ...placeholdersOf(signature.content)],
    description,
  )
  const isSignatureInBody = isInBody(signature.at)
  const digest = digester(algorithm)
  const ed25519 = digester('ed25519')
  const isSecretSigned = signature.content.includes('{secret}')
  const isBodySigned = signature.content.includes('{body}')

  return (delivery) => {
    // Parsed once. If a header must hold the signature, the body is parsed only after that header
    // is found.
    const parsed = isSignatureInBody ? parse(delivery) : undefined
    const texts = textsOf(delivery, parsed)
    if (!Array.isArray(texts)) return texts
    let signatures: readonly Buffer[] = []
    let asymmetric: readonly Buffer[] = []
    let field: string | undefined
    let headers: string | undefined
    let named: ReadonlyMap<string, string> | undefined
    let untried = 0
    for (const text of texts) {
      if (text.length > MAX_HEADER_CHARS)
        return refuse('SIGNATURE_MALFORMED', `the signature is longer than ${MAX_HEADER_CHARS} characters`)
      const read = readHeader(text)
      signatures = signatures.length === 0 ? read.signatures : [...signatures, ...read.signatures]
      asymmetric = asymmetric.length === 0 ? read.asymmetric : [...asymmetric, ...read.asymmetric]
      field ??= read.timestamp
      headers ??= read.headers
      named ??= read.named
      untried += read.untried ?? 0
    }
    if (signatures.length === 0 && asymmetric.length === 0)
      return refuse('SIGNATURE_MALFORMED', `no ${algorithm} signature found`)
    const unfit = signature.asymmetric && unfitKeys(signature, keyring, signatures, asymmetric)
    if (unfit) return unfit
    const payload = parsed ?? parse(delivery)
    const signedAt = readSignedAt(delivery, payload, field)
    if ('ok' in signedAt) return signedAt
    const body = isBodySigned ? delivery.body : NO_BODY
    const fields = { timestamp: signedAt.text, headers, named, secret: '' }
    let content = renderContent(delivery, payload, fields)
    if ('ok' in content) return content

    for (const key of keyring.keys) {
      if (isSecretSigned) {
        content = renderContent(delivery, payload, { ...fields, secret: key.key.export().toString() })
        if ('ok' in content) return content
      }
      const isMatch =
        signature.asymmetric && key.key.type === 'public'
          ? ed25519.matches(key, content, body, asymmetric)
          : digest.matches(key, content, body, signatures)
      if (!isMatch) continue
      const stale = checkAge(signedAt.epochMs, delivery.receivedAtMs, toleranceSeconds)
      return stale ?? { ok: true, secret: key.position }
    }
    return refuse(
      'SIGNATURE_MISMATCH',
      `none of the ${keyring.keys.length} configured secret(s) made this signature${untriedText(untried)}`,
    )
  }
}

function untriedText(untried: number): string {
  if (untried === 0) return ''
  return `; ${untried} more signature(s) of the header were not tried, because that would cost too much`
}

/**
 * Rejects a header if no configured secret can check its kind of signature, and names the secret to
 * configure.
 */
function unfitKeys(
  { asymmetric, format }: DigestSignature,
  { keys }: Keyring,
  signatures: readonly Buffer[],
  ofKeyPairs: readonly Buffer[],
): Refusal | undefined {
  const isUsable = ({ key }: SigningKey): boolean =>
    (key.type === 'public' ? ofKeyPairs : signatures).length > 0
  if (keys.length === 0 || keys.some(isUsable) || asymmetric === undefined || format.kind !== 'list')
    return undefined
  const [missing, present, needed] =
    signatures.length > 0
      ? [asymmetric.signatureField, format.signatureField, 'the shared secret']
      : [format.signatureField, asymmetric.signatureField, `the public key, ${asymmetric.publicPrefix}…`]
  return refuse(
    'SIGNATURE_MALFORMED',
    `no ${missing} signature found for the configured secret, but a ${present} signature; to verify that one, set \`secret\` to ${needed}`,
  )
}
