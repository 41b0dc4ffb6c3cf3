import { HOUR_MS } from '../../model/durations.ts'
import { HookonceError } from '../../model/errors.ts'
import type { Delivery, Identified, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { explain } from '../diagnose/explain.ts'
import { type CheckedOptions, secretOf } from '../options.ts'
import { settingsOf } from '../places.ts'
import { redactionOf } from '../redact/redaction.ts'
import { type Sample, type SignedDelivery, type SigningSource, signer } from '../sign.ts'
import { isDigest } from '../signature.ts'
import { splitter } from './batch.ts'
import type { CustomScheme, MakeScheme, SchemeInput } from './custom-scheme.ts'
import { type Endpoint, endpointOf } from './endpoint.ts'
import { STAMP_HEADER } from './event-key.ts'
import { handshaker } from './handshake.ts'
import { identifier } from './identify.ts'
import { jwtVerifier } from './jwt.ts'
import { fixedKeyring, type Keyring, refreshedKeyring } from './keyring.ts'
import { bodyParser } from './payload.ts'
import { tokenVerifier } from './token.ts'
import { digestVerifier, type Verify } from './verify.ts'
import { withholder } from './withhold.ts'

/**
 * Combines a description with the secrets and options of one endpoint. Everything that can be
 * prepared or checked is done here, once. A delivery then costs one HMAC and one pass over its
 * JSON.
 *
 * The types rely on the provider: a delivery with its signature has the documented shape.
 */
export function compile<Payload, Subject, Type extends string, Shapes = unknown>(
  description: CheckedDescription,
  options: CheckedOptions,
  code?: MakeScheme,
): SigningSource<Payload, Subject, Type, Shapes> {
  const keyring = keyringOf(description, options)
  const endpoint = endpointOf(description, options)
  const toleranceSeconds = toleranceOf(description, options)
  const input: SchemeInput = { description, keyring, endpoint, toleranceSeconds }
  const coded = code?.(input)
  if (description.body === 'coded' && coded?.parse === undefined)
    throw new HookonceError('CONFIG_INVALID', `${description.provider}: body: 'coded' requires code`)
  const split = splitter(description)
  const whole = (verifyOne: Verify): Verify =>
    split && description.signedPer === 'event' ? eachVerified(split, verifyOne) : verifyOne
  const { early, verify } = verifiedEarly(description, whole(coded?.verify ?? describedVerifier(input)))
  const { onSecret, mode } = options
  const handshake =
    coded?.handshake ?? handshaker({ description, keyring, endpoint, onSecret, mode, verify: early })
  const prepare = preparation(keyring, coded?.prepare)
  const withholds = withholder(description.signature, keyring)
  const redaction = redactionOf(description, options.redact)
  const sign = coded?.sign ?? (coded ? unsignable(description) : signer({ description, keyring, endpoint }))

  const source: SigningSource<Payload, Subject, Type, Shapes> = {
    provider: description.provider,
    description,
    tenant: options.tenant,
    acceptedStatus: description.acceptedStatus,
    ...(description.acceptedBody === undefined ? {} : { acceptedBody: description.acceptedBody }),
    ...acceptedHeaders(description, endpoint),
    refusedStatus: options.refusedStatus ?? description.refusedStatus,
    retryWindowMs: description.retryWindowHours * HOUR_MS,
    unwanted: options.unwanted,
    mismatch: options.mismatch,
    mode: options.mode,
    ...(JSON.stringify(description.event.key).includes('"each-delivery"') && {
      stampHeader: STAMP_HEADER,
      needsStamp: description.event.key === 'each-delivery',
    }),
    ...(description.handshake && {
      handshakeMethods: description.handshake.map(({ method }) => method).filter((name) => name !== 'POST'),
    }),
    ...(description.event.types && { eventTypes: description.event.types }),
    ...(withholds && { withholds }),
    ...(redaction && { redaction }),
    // Optional members are absent if they are not needed. The receiver checks for their presence.
    ...(prepare && { prepare }),
    ...(handshake && { handshake }),
    ...(split && { split, alwaysBatches: !takesForms(description) }),
    verify,
    identify: identifier(description, coded?.parse ?? bodyParser(description.body)) as (
      delivery: Delivery,
    ) => Identified<Payload, Subject> | Refusal,
    diagnose: (delivery, refusal, others = []) =>
      explain({
        input,
        verifierOf: (other) => whole(code ? code(other).verify : describedVerifier(other)),
        delivery,
        refusal,
        others: others.map(({ name, source }) => ({ name, keys: keyrings.get(source)?.keys ?? [] })),
      }),
    deliver: sign,
    sign: (sample) => sign(sample).headers,
  }
  keyrings.set(source, keyring)
  return source
}

/**
 * The keys of each source, for the diagnosis of other sources. They are not a property of the
 * source, so other code cannot read them.
 */
const keyrings = new WeakMap<object, Keyring>()

/** Each form holds one event, even if the same provider sends its JSON in batches. */
function takesForms({ body }: CheckedDescription): boolean {
  return typeof body === 'object' && 'jsonOr' in body && body.jsonOr === 'form'
}

function describedVerifier(input: SchemeInput): Verify {
  const { signature } = input.description
  if (isDigest(signature)) return digestVerifier({ ...input, signature })
  if (signature.algorithm === 'jwt') return jwtVerifier({ ...input, signature })
  if (signature.algorithm !== 'coded') return tokenVerifier({ ...input, signature })
  throw new HookonceError('CONFIG_INVALID', `${input.description.provider}: signature: 'coded' requires code`)
}

function unsignable({ provider }: CheckedDescription): (sample: Sample) => SignedDelivery {
  return () => {
    throw new HookonceError('CONFIG_INVALID', `${provider}: only the provider itself can sign its deliveries`)
  }
}

/**
 * A signed handshake is verified before it is parsed. Keeps that outcome for the following call of
 * `verify`, so that a request that turns out to be a delivery is verified once.
 */
function verifiedEarly(
  { handshake = [] }: CheckedDescription,
  verify: Verify,
): { readonly early: Verify; readonly verify: Verify } {
  if (!handshake.some(({ signed, method }) => signed && method === 'POST')) return { early: verify, verify }
  const outcomes = new WeakMap<Delivery, ReturnType<Verify>>()
  return {
    early(delivery) {
      const outcome = outcomes.get(delivery) ?? verify(delivery)
      outcomes.set(delivery, outcome)
      return outcome
    },
    verify(delivery) {
      const outcome = outcomes.get(delivery)
      if (outcome === undefined) return verify(delivery)
      outcomes.delete(delivery)
      return outcome
    },
  }
}

/** Every event has its own signature. All must be valid, and there must be at least one. */
function eachVerified(split: NonNullable<ReturnType<typeof splitter>>, verify: Verify): Verify {
  return (delivery) => {
    // Checks the first event alone, so an unsigned batch is neither fully parsed nor split.
    const first = verify(delivery)
    if (!first.ok) return first
    const events = split(delivery)
    if ('ok' in events) return events
    let verified: ReturnType<Verify> = {
      ok: false,
      code: 'SIGNATURE_MISSING',
      detail: 'the batch contains no event',
    }
    for (const event of events) {
      verified = verify(event)
      if (!verified.ok) return verified
    }
    return verified
  }
}

function keyringOf(description: CheckedDescription, options: CheckedOptions): Keyring {
  const { signature, provider } = description
  if (signature.algorithm === 'coded' && signature.secret === 'none') return { keys: [] }
  const secret = secretOf(options.secret, { provider, tenant: options.tenant })
  return 'fixed' in secret
    ? fixedKeyring(description, secret.fixed)
    : refreshedKeyring(description, secret.read)
}

function preparation(
  keyring: Keyring,
  prepare: CustomScheme['prepare'],
): ((delivery: Delivery) => Promise<Refusal | undefined> | undefined) | undefined {
  const { refresh } = keyring
  if (refresh === undefined) return prepare
  if (prepare === undefined) return (delivery) => refresh(delivery.receivedAtMs)
  return async (delivery) => (await refresh(delivery.receivedAtMs)) ?? (await prepare(delivery))
}

function acceptedHeaders(
  { acceptedHeaders }: CheckedDescription,
  endpoint: Endpoint,
): { acceptedHeaders?: Record<string, string> } {
  const entries = Object.entries(acceptedHeaders)
  if (entries.length === 0) return {}
  return {
    acceptedHeaders: Object.fromEntries(
      entries.map(([name, template]) => [
        name,
        settingsOf(template).reduce(
          (text, setting) => text.replaceAll(`{setting:${setting}}`, endpoint.setting(setting)),
          template,
        ),
      ]),
    ),
  }
}

function toleranceOf(description: CheckedDescription, { toleranceSeconds }: CheckedOptions): number | 'off' {
  const { signature, timestamp } = description
  if (timestamp !== undefined) return toleranceSeconds ?? timestamp.toleranceSeconds
  if (signature.algorithm === 'jwt') return toleranceSeconds ?? signature.toleranceSeconds
  if (signature.algorithm === 'coded' && signature.dated)
    return toleranceSeconds ?? signature.toleranceSeconds
  if (typeof toleranceSeconds === 'number') {
    // Rejects an option that cannot take effect, instead of ignoring it silently.
    throw new HookonceError(
      'CONFIG_INVALID',
      `${description.provider}: toleranceSeconds: this provider signs no date, so the age of a delivery is unknown; remove the option`,
    )
  }
  return 'off'
}
