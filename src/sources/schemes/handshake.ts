import { createHash, createHmac } from 'node:crypto'
import type { Delivery, HandshakeAnswer, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import type { Handshake, HandshakeValue } from '../handshake.ts'
import type { CheckedOptions } from '../options.ts'
import { isRequestLocator, partsOf, type RequestLocator, templatePieces } from '../places.ts'
import type { Endpoint } from './endpoint.ts'
import type { Keyring } from './keyring.ts'
import { type Read, valueAt } from './locate.ts'
import { bodyParser } from './payload.ts'
import { refuse } from './refuse.ts'
import { isSameText } from './token.ts'
import type { Verify } from './verify.ts'

interface HandshakeInput {
  readonly description: CheckedDescription
  readonly keyring: Keyring
  readonly endpoint: Endpoint
  readonly onSecret: CheckedOptions['onSecret']
  readonly mode: CheckedOptions['mode']
  readonly verify: Verify
}

type Answer = (delivery: Delivery) => HandshakeAnswer | Refusal | undefined

// Handshakes are small, and most are unsigned. Larger bodies are neither searched nor parsed.
const MAX_BODY_BYTES = 64 * 1024

/**
 * Recognises and answers the handshakes of a provider. Any other delivery is left for verification.
 */
export function handshaker(input: HandshakeInput): Answer | undefined {
  const answers = input.description.handshake?.map((handshake) => answerer(handshake, input))
  if (answers === undefined) return undefined
  return (delivery) => {
    if (delivery.body.length > MAX_BODY_BYTES) return undefined
    const parsed = parsedOnce(delivery)
    for (const answer of answers) {
      const answered = answer(delivery, parsed)
      if (answered !== undefined) return answered
    }
    return undefined
  }
}

/** Returns the body parsed as the given kind. Parses it on first use. */
type Parsed = (kind: CheckedDescription['body']) => object | undefined

function parsedOnce(delivery: Delivery): Parsed {
  const payloads = new Map<unknown, object | undefined>()
  return (kind) => {
    if (delivery.body.length === 0) return undefined
    if (!payloads.has(kind)) payloads.set(kind, bodyParser(kind)(delivery))
    return payloads.get(kind)
  }
}

type Fill = (delivery: Delivery, payload: unknown) => string | undefined

function answerer(
  handshake: Handshake,
  input: HandshakeInput,
): (delivery: Delivery, parsed: Parsed) => HandshakeAnswer | Refusal | undefined {
  const { description, endpoint, onSecret } = input
  const { token, secret, reply } = handshake
  const recognise = recogniser(handshake, input)
  const tokenOf = token && valueAt(token)
  const secretOf = secret && valueAt(secret)
  const body = bodyFiller(reply, input)
  const headers = Object.entries(reply.headers).map(
    ([name, template]) => [name, filler(template, endpoint)] as const,
  )

  return (delivery, parsed) => {
    const recognised = recognise(delivery, parsed)
    if (recognised !== 'handshake') return recognised
    const payload = parsed(description.body)
    if (tokenOf && !isSameText(String(tokenOf(delivery, payload)), endpoint.setting('verifyToken')))
      return refuse('HANDSHAKE_REFUSED', `the token at ${token} does not equal settings.verifyToken`)
    const text = body(delivery, payload)
    const filled: Record<string, string> = {}
    for (const [name, fill] of headers) {
      const value = fill(delivery, payload)
      if (value !== undefined) filled[name] = value
    }
    if (text === undefined || Object.keys(filled).length < headers.length)
      return refuse('HANDSHAKE_REFUSED', 'the value to echo is missing, too long or malformed')
    const answer: HandshakeAnswer = {
      ok: true,
      status: reply.status,
      headers: { ...contentType(reply), ...filled },
      body: text,
    }
    if (secretOf === undefined) return answer
    if (onSecret === undefined)
      return refuse(
        'HANDSHAKE_REFUSED',
        'the handshake contains a secret, but the option onSecret is not set',
      )
    const newSecret = secretOf(delivery, payload)
    if (typeof newSecret !== 'string')
      return refuse('HANDSHAKE_REFUSED', `the secret at ${secret} is missing`)
    return { ...answer, perform: () => passOnSecret(onSecret, newSecret) }
  }
}

/**
 * Whether this is the handshake, and signed if required. The signature is checked before the body
 * is parsed. An unsigned body is therefore not recognised as a handshake and is rejected as a
 * delivery. In shadow mode deliveries are not rejected, so there the body is parsed to recognise
 * it.
 */
function recogniser(
  handshake: Handshake,
  { description, mode, verify }: HandshakeInput,
): (delivery: Delivery, parsed: Parsed) => 'handshake' | Refusal | undefined {
  const { method, signed } = handshake
  const { mayBe, isMeant } = matcher(handshake, description)
  return (delivery, parsed) => {
    if (delivery.method !== method || !mayBe(delivery)) return undefined
    const verified = signed ? verify(delivery) : undefined
    if (verified?.ok === false) {
      const isKnown = isMeant === undefined || (mode === 'shadow' && isMeant(delivery, parsed))
      return isKnown ? verified : undefined
    }
    return isMeant === undefined || isMeant(delivery, parsed) ? 'handshake' : undefined
  }
}

async function passOnSecret(
  onSecret: NonNullable<CheckedOptions['onSecret']>,
  secret: string,
): Promise<Refusal | undefined> {
  try {
    await onSecret(secret)
    return undefined
  } catch (error) {
    // The error message might contain the secret.
    return refuse('KEYS_UNAVAILABLE', `onSecret threw (${error instanceof Error ? error.name : 'unknown'})`)
  }
}

interface Matcher {
  /** Whether this can be the handshake, judged without parsing the body. */
  mayBe(delivery: Delivery): boolean
  /** Whether this is the handshake, if only the parsed body shows it. */
  readonly isMeant: ((delivery: Delivery, parsed: Parsed) => boolean) | undefined
}

function matcher({ when }: Handshake, { body }: Pick<CheckedDescription, 'body'>): Matcher {
  const wanted = Object.entries(when).map(([place, value]) => ({ place: place as RequestLocator, value }))
  const inBody = wanted.filter(({ place }) => /^(?:json|form):/.test(place))
  const elsewhere = wanted.filter((one) => !inBody.includes(one)).map(comparer)
  const words = inBody
    .filter(({ value }) => value !== false)
    .map(({ place, value }) =>
      typeof value === 'string' ? value : (partsOf(place)[1].split('.').at(-1) ?? ''),
    )
  const compareBody = inBody.map(comparer)
  // A handshake may be a form even if deliveries are JSON.
  const kind = inBody.some(({ place }) => place.startsWith('form:')) ? 'form' : body
  return {
    mayBe(delivery) {
      if (!elsewhere.every((compare) => compare(delivery, undefined))) return false
      const bytes = Buffer.from(delivery.body.buffer, delivery.body.byteOffset, delivery.body.byteLength)
      return words.every((word) => bytes.includes(word))
    },
    isMeant:
      compareBody.length === 0
        ? undefined
        : (delivery, parsed) => {
            // Undefined if the body is empty or not readable: then every place in it is absent.
            const payload = parsed(kind)
            return compareBody.every((compare) => compare(delivery, payload))
          },
  }
}

function comparer({
  place,
  value,
}: {
  place: RequestLocator
  value: Handshake['when'][RequestLocator]
}): Read<boolean> {
  const read = valueAt(place)
  return (delivery, payload) => {
    const found = read(delivery, payload)
    if (value === false) return found === undefined
    return value === true ? typeof found === 'string' && found !== '' : found === value
  }
}

// Challenges are ids or short tokens. A longer text is not a challenge and is not echoed.
const MAX_ECHO_CHARS = 1024

// The text signed here must not look like a delivery body: the answer would be a valid signature
// for it.
const CHALLENGE = /^[\w.~+/=-]+$/

function filler(template: string, endpoint: Endpoint): Fill {
  const parts = templatePieces(template).map(({ literal, placeholder }) => {
    if (placeholder === undefined) return { literal, read: undefined }
    return { literal, read: placeholderReader(placeholder, endpoint) }
  })
  return (delivery, payload) => {
    let text = ''
    for (const { literal, read } of parts) {
      text += literal
      if (read === undefined) continue
      const value = read(delivery, payload)
      if (typeof value !== 'string' || value === '' || value.length > MAX_ECHO_CHARS) return undefined
      text += value
    }
    return text
  }
}

function placeholderReader(placeholder: string, endpoint: Endpoint): Read<unknown> {
  if (placeholder === 'url') return () => endpoint.registeredUrl
  if (isRequestLocator(placeholder)) return valueAt(placeholder)
  return () => endpoint.setting(placeholder.slice('setting:'.length))
}

function valueFiller(value: HandshakeValue, { keyring, endpoint }: HandshakeInput): Fill {
  if (typeof value === 'string') return filler(value, endpoint)
  const { algorithm, encoding, prefix } = value
  const of = filler(value.of, endpoint)
  return (delivery, payload) => {
    const text = of(delivery, payload)
    if (text === undefined) return undefined
    if (algorithm === 'sha256') return prefix + createHash('sha256').update(text).digest(encoding)
    const [first] = keyring.keys
    if (first === undefined || !CHALLENGE.test(text)) return undefined
    return prefix + createHmac(algorithm.slice('hmac-'.length), first.key).update(text).digest(encoding)
  }
}

function bodyFiller(reply: Handshake['reply'], input: HandshakeInput): Fill {
  if (reply.text !== undefined) return filler(reply.text, input.endpoint)
  if (reply.json === undefined) return () => ''
  const members = Object.entries(reply.json).map(([name, value]) => {
    const fill = typeof value === 'number' ? undefined : valueFiller(value, input)
    return { name, value, fill }
  })
  return (delivery, payload) => {
    const json: Record<string, unknown> = {}
    for (const { name, value, fill } of members) {
      const filled = fill === undefined ? value : fill(delivery, payload)
      if (filled === undefined) return undefined
      json[name] = filled
    }
    return JSON.stringify(json)
  }
}

// Never HTML, because the echoed text comes from outside.
function contentType({ text, json }: Handshake['reply']): Record<string, string> {
  if (json !== undefined) return { 'content-type': 'application/json' }
  return text === undefined ? {} : { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' }
}
