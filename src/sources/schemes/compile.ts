import { HOUR_MS } from '../../model/durations.ts'
import { HookonceError } from '../../model/errors.ts'
import type { Delivery, Identified, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { type CheckedOptions, placedSecrets } from '../options.ts'
import { type SigningSource, signer } from '../sign.ts'
import { identifier } from './identify.ts'
import { signingKey } from './key.ts'
import { verifier } from './verify.ts'

/**
 * Binds a description to the secrets and options of one endpoint. Everything that can be prepared or can be wrong is
 * dealt with here, once; a delivery then only costs one HMAC and one pass over its JSON.
 *
 * The types are the provider's promise: a delivery that carries its signature has the shape it documents.
 */
export function compile<Payload, Subject, Type extends string>(
  description: CheckedDescription,
  options: CheckedOptions,
): SigningSource<Payload, Subject, Type> {
  const secrets = placedSecrets(options.secret, description.provider)
  const [first, ...others] = secrets.map((secret) => signingKey(description, secret))
  if (first === undefined) throw new HookonceError('SECRET_MISSING', description.provider)

  return {
    provider: description.provider,
    tenant: options.tenant,
    acceptedStatus: description.acceptedStatus,
    refusedStatus: description.refusedStatus,
    retryWindowMs: description.retryWindowHours * HOUR_MS,
    unwanted: options.unwanted,
    mismatch: options.mismatch,
    verify: verifier(description, [first, ...others], toleranceOf(description, options)),
    identify: identifier(description.event) as (delivery: Delivery) => Identified<Payload, Subject> | Refusal,
    sign: signer(description, first),
  }
}

function toleranceOf(description: CheckedDescription, { toleranceSeconds }: CheckedOptions): number | 'off' {
  if (description.timestamp !== undefined) return toleranceSeconds ?? description.timestamp.toleranceSeconds
  if (typeof toleranceSeconds === 'number') {
    // A guard that is asked for and cannot be kept must not look as if it were.
    throw new HookonceError(
      'CONFIG_INVALID',
      `${description.provider}: toleranceSeconds: this provider signs no date, so the age of a delivery is unknown; leave the option out`,
    )
  }
  return 'off'
}
