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

export interface Explaining {
  readonly coding: SchemeInput
  /** Creates the verifier of a source with this input. */
  readonly verifierOf: (coding: SchemeInput) => Verify
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
export function explain(explaining: Explaining): string {
  const { coding, delivery, refusal } = explaining
  if (refusal.code === 'TIMESTAMP_TOO_OLD' || refusal.code === 'TIMESTAMP_IN_FUTURE')
    return clockFault(refusal)
  if (refusal.code === 'SIGNATURE_MISSING') {
    const older = olderHeader(delivery, coding.description)
    if (older !== undefined) return older
  }
  const parsed = coversBody(coding.description.signature) ? parsedBody(delivery) : undefined
  if (refusal.code !== 'SIGNATURE_MISSING' && parsed !== undefined) return parsed
  const { found, trials } = search(explaining)
  return found ?? unexplained(explaining, trials)
}

function clockFault({ code, detail }: Refusal): string {
  return code === 'TIMESTAMP_IN_FUTURE'
    ? `the signature is right; ${detail}: the clock of this machine is slow, or the sender's is fast`
    : `the signature is right; ${detail}: the clock of this machine is fast, the delivery was held up on its way, or an old one is sent again`
}

function search({ coding, verifierOf, delivery, others = [] }: Explaining): {
  found: string | undefined
  trials: number
} {
  let left = MAX_BYTES
  let trials = 0
  for (const alternative of alternatives(delivery, coding, others)) {
    const tried = alternative.delivery ?? delivery
    left -= (alternative.cost ?? 0) + costOf(tried, { ...coding, ...alternative.coding })
    if (left < 0) break
    trials += 1
    const verify = verifierOf({ ...coding, ...alternative.coding, toleranceSeconds: 'off' })
    const verified = verify(tried)
    if (!verified.ok) continue
    const { says } = alternative
    return { found: typeof says === 'string' ? says : says(verified.secret), trials }
  }
  return { found: undefined, trials }
}

function* alternatives(
  delivery: Delivery,
  coding: SchemeInput,
  others: readonly OtherKeys[],
): Iterable<Alternative> {
  const { description, keyring, endpoint } = coding
  yield* otherSecrets(description, keyring)
  yield* otherUrls(delivery, description, endpoint)
  yield* otherSignatures(delivery, description)
  yield* otherContents(description)
  if (coversBody(description.signature)) yield* otherBodies(delivery, description)
  // Last, because there may be many: with a large body they would use up the limit.
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

function unexplained({ coding, delivery, refusal }: Explaining, trials: number): string {
  if (refusal.code === 'SIGNATURE_MISSING') return refusal.detail
  const { description } = coding
  const hints = coversBody(description.signature) ? hintsOf(delivery, description) : []
  if (hints.length > 0) return `none of ${trials} alternatives makes the signature right; ${hints.join('; ')}`
  const mode = modeOf(delivery, description)
  return [
    `none of ${trials} alternatives makes the signature right: the secret is most likely another one`,
    ...(mode === undefined ? [] : [mode]),
  ].join('; ')
}
