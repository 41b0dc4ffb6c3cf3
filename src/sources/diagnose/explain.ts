import type { Delivery, Refusal } from '../contract.ts'
import type { SchemeInput } from '../schemes/custom-scheme.ts'
import type { Verify } from '../schemes/verify.ts'
import { coversBody, isPublicKey } from '../signature.ts'
import type { Alternative } from './alternatives.ts'
import { otherBodies, parsedBody } from './bodies.ts'
import { hintsOf } from './hints.ts'
import { modeOf } from './mode.ts'
import { olderHeader } from './older-header.ts'
import { keysOfOthers, type OtherKeys } from './other-keys.ts'
import { otherSecrets } from './secrets.ts'
import { otherContents, otherSignatures } from './signatures.ts'
import { otherUrls } from './urls.ts'

export interface RefusedDelivery {
  readonly input: SchemeInput
  /** Creates the verifier of a source with this input. */
  readonly verifierOf: (input: SchemeInput) => Verify
  readonly delivery: Delivery
  readonly refusal: Refusal
  /** The keys of the other sources, by name. */
  readonly others?: readonly OtherKeys[]
}

/**
 * The limit of one explanation, in bytes hashed: about ten milliseconds. A typical delivery needs a
 * tenth of it for all trials. For a delivery of a megabyte only the likeliest faults are tried.
 */
const MAX_BYTES = 16 * 1024 * 1024
/** Checking a public-key signature takes as long as hashing this many bytes. */
const PUBLIC_KEY_BYTES = 64 * 1024
/** The fixed cost of a trial. */
const TRIAL_BYTES = 2 * 1024

/** Finds out why this source rejected a delivery, by trying likely alternatives. */
export function explain(refused: RefusedDelivery): string {
  const { input, delivery, refusal } = refused
  if (refusal.code === 'TIMESTAMP_TOO_OLD' || refusal.code === 'TIMESTAMP_IN_FUTURE')
    return clockFault(refusal)
  if (refusal.code === 'SIGNATURE_MISSING') {
    const older = olderHeader(delivery, input.description)
    if (older !== undefined) return older
  }
  const parsed = coversBody(input.description.signature) ? parsedBody(delivery) : undefined
  if (refusal.code !== 'SIGNATURE_MISSING' && parsed !== undefined) return parsed
  const { found, trials } = search(refused)
  return found ?? unexplained(refused, trials)
}

function clockFault({ code, detail }: Refusal): string {
  return code === 'TIMESTAMP_IN_FUTURE'
    ? `the signature is right; ${detail}: the clock of this machine is slow, or the sender's is fast`
    : `the signature is right; ${detail}: the clock of this machine is fast, the delivery was delayed, or an old delivery was sent again`
}

function search({ input, verifierOf, delivery, others = [] }: RefusedDelivery): {
  found: string | undefined
  trials: number
} {
  let left = MAX_BYTES
  let trials = 0
  for (const alternative of alternatives(delivery, input, others)) {
    const tried = alternative.delivery ?? delivery
    left -= (alternative.cost ?? 0) + costOf(tried, { ...input, ...alternative.input })
    if (left < 0) break
    trials += 1
    const verify = verifierOf({ ...input, ...alternative.input, toleranceSeconds: 'off' })
    const verified = verify(tried)
    if (!verified.ok) continue
    const { diagnosis } = alternative
    return { found: typeof diagnosis === 'string' ? diagnosis : diagnosis(verified.secret), trials }
  }
  return { found: undefined, trials }
}

function* alternatives(
  delivery: Delivery,
  input: SchemeInput,
  others: readonly OtherKeys[],
): Iterable<Alternative> {
  const { description, keyring, endpoint } = input
  yield* otherSecrets(description, keyring)
  yield* otherUrls(delivery, description, endpoint)
  yield* otherSignatures(delivery, description)
  yield* otherContents(description)
  if (coversBody(description.signature)) yield* otherBodies(delivery, description)
  // Tried last, because there may be many: with a large body they would use up the limit.
  yield* keysOfOthers(description, keyring, others)
}

function costOf({ body }: Delivery, { keyring, description }: SchemeInput): number {
  const { length } = body
  const isPublic = isPublicKey(description.signature.algorithm)
  if (keyring.keys.length === 0) return length + (isPublic ? PUBLIC_KEY_BYTES : TRIAL_BYTES)
  return keyring.keys.reduce(
    (sum, { key }) => sum + length + (isPublic || key.type === 'public' ? PUBLIC_KEY_BYTES : TRIAL_BYTES),
    0,
  )
}

function unexplained({ input, delivery, refusal }: RefusedDelivery, trials: number): string {
  if (refusal.code === 'SIGNATURE_MISSING') return refusal.detail
  const { description } = input
  const hints = coversBody(description.signature) ? hintsOf(delivery, description) : []
  if (hints.length > 0)
    return `none of the ${trials} tried alternatives matches the signature; ${hints.join('; ')}`
  const mode = modeOf(delivery, description)
  return [
    `none of the ${trials} tried alternatives matches the signature: most likely the secret is wrong`,
    ...(mode === undefined ? [] : [mode]),
  ].join('; ')
}
