import type { ErrorCode } from '../../model/errors.ts'
import type { Delivery, NamedSource, Refusal, Source } from '../contract.ts'
import { looksLike } from './looks-like.ts'

/** A delivery that a source refused, with the sources whose it may be instead. */
export interface Refused {
  readonly source: Source
  readonly others: readonly NamedSource[]
  readonly delivery: Delivery
  readonly refusal: Refusal
}

/** Refusals that have a cause to be found. */
const DIAGNOSED: ReadonlySet<ErrorCode> = new Set([
  'SIGNATURE_MISSING',
  'SIGNATURE_MALFORMED',
  'SIGNATURE_MISMATCH',
  'TIMESTAMP_TOO_OLD',
  'TIMESTAMP_IN_FUTURE',
])

export function isDiagnosed(code: ErrorCode): boolean {
  return DIAGNOSED.has(code)
}

/** Enough for the endpoints of one provider in all its modes and regions. */
const MAX_OTHERS = 32
/** Verifying with all of them may hash this much. */
const MAX_BYTES_OF_OTHERS = 8 * 1024 * 1024

/**
 * Says in a sentence why a delivery was refused: for our own log, never for the sender. It tries
 * the secrets of the other sources, then what else may have happened to the delivery; see
 * explain.ts. Its work is bounded whatever the delivery holds, but it is many times that of
 * verifying: not for the path of a delivery.
 */
export async function diagnose(refused: Refused): Promise<string | undefined> {
  const { source, delivery, refusal } = refused
  if (!isDiagnosed(refusal.code)) return undefined
  if (!refusal.code.startsWith('TIMESTAMP_')) {
    const other = madeByOther(refused)
    if (other !== undefined) return other
  }
  const explained = source.diagnose?.(delivery, refusal, refused.others.slice(0, MAX_OTHERS))
  if (refusal.code !== 'SIGNATURE_MISSING') return explained
  const like = await looksLike(delivery, source.provider)
  // Where it only repeats the refusal, what the delivery looks like says more.
  if (like === undefined || (explained !== undefined && explained !== refusal.detail)) return explained
  return `${refusal.detail}, but ${like}; is the URL of this source registered there?`
}

function madeByOther({ source, others, delivery }: Refused): string | undefined {
  const affordable = Math.floor(MAX_BYTES_OF_OTHERS / (delivery.body.length + 1))
  for (const other of others.slice(0, Math.min(MAX_OTHERS, affordable))) {
    if (other.source === source || !matches(other.source, delivery)) continue
    return other.source.provider === source.provider
      ? `the signature was made with the secret of the source "${other.name}": another endpoint or mode (test, live) of ${source.provider}`
      : `this is a delivery of the source "${other.name}" (${other.source.provider}): it was sent to the wrong URL`
  }
  return undefined
}

/** Too old is right but for its date. */
function matches(source: Source, delivery: Delivery): boolean {
  const verified = source.verify(delivery)
  return verified.ok || verified.code === 'TIMESTAMP_TOO_OLD' || verified.code === 'TIMESTAMP_IN_FUTURE'
}
