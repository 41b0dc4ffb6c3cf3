import type { ErrorCode } from '../../model/errors.ts'
import type { Delivery, NamedSource, Refusal, Source } from '../contract.ts'
import { looksLike } from './looks-like.ts'

/** A rejected delivery, with the other sources that it may belong to. */
export interface RefusedBySource {
  readonly source: Source
  readonly others: readonly NamedSource[]
  readonly delivery: Delivery
  readonly refusal: Refusal
}

/** Error codes whose cause can be diagnosed. */
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

/** Enough for the endpoints of one provider in all modes and regions. */
const MAX_OTHERS = 32
/** The limit of bytes hashed while verifying with the other sources. */
const MAX_BYTES_OF_OTHERS = 8 * 1024 * 1024

/**
 * Explains in one sentence why a delivery was rejected, for the log of hookonce and never for the
 * sender. It tries the secrets of the other sources, then other possible causes (see explain.ts).
 * The work is bounded for every delivery, but many times that of verifying, so it does not belong
 * on the delivery path.
 */
export async function diagnose(refused: RefusedBySource): Promise<string | undefined> {
  const { source, delivery, refusal } = refused
  if (!isDiagnosed(refusal.code)) return undefined
  if (!refusal.code.startsWith('TIMESTAMP_')) {
    const other = madeByOther(refused)
    if (other !== undefined) return other
  }
  const explained = source.diagnose?.(delivery, refusal, refused.others.slice(0, MAX_OTHERS))
  if (refusal.code !== 'SIGNATURE_MISSING') return explained
  const like = await looksLike(delivery, source.provider)
  // If the explanation only repeats the rejection, the likely sender is more helpful.
  if (like === undefined || (explained !== undefined && explained !== refusal.detail)) return explained
  return `${refusal.detail}, but ${like}; check whether the URL of this source is registered there`
}

function madeByOther({ source, others, delivery }: RefusedBySource): string | undefined {
  const affordable = Math.floor(MAX_BYTES_OF_OTHERS / (delivery.body.length + 1))
  for (const other of others.slice(0, Math.min(MAX_OTHERS, affordable))) {
    if (other.source === source || !matches(other.source, delivery)) continue
    return other.source.provider === source.provider
      ? `the signature was made with the secret of the source "${other.name}": another endpoint or mode (test, live) of ${source.provider}`
      : `this is a delivery of the source "${other.name}" (${other.source.provider}): it was sent to the wrong URL`
  }
  return undefined
}

/** A delivery that is only too old still has a valid signature. */
function matches(source: Source, delivery: Delivery): boolean {
  const verified = source.verify(delivery)
  return verified.ok || verified.code === 'TIMESTAMP_TOO_OLD' || verified.code === 'TIMESTAMP_IN_FUTURE'
}
