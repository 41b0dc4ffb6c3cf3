import type { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { checkAgreement, descriptionShape } from './description.ts'
import { optionsShape } from './options.ts'
import { compile } from './schemes/compile.ts'
import type { SigningSource } from './sign.ts'

const customSchema = strict({
  ...descriptionShape,
  provider: descriptionShape.provider.default('custom'),
  ...optionsShape,
  // Both shapes have this field. The merged object needs only one.
  refusedStatus: descriptionShape.refusedStatus,
}).superRefine(checkAgreement)

/** A provider description and the options of a source in one object. */
export type CustomOptions = z.input<typeof customSchema>

/**
 * A source for any sender that signs with an HMAC.
 *
 * ```ts
 * custom({
 *   provider: 'acme',
 *   secret: process.env.ACME_SECRET,
 *   signature: { algorithm: 'hmac-sha256', header: 'x-acme-signature', encoding: 'hex' },
 *   event: { key: 'header:x-acme-id', type: 'json:type' },
 * })
 * ```
 */
export function custom<Payload = unknown, Subject = unknown, Type extends string = string>(
  options: CustomOptions,
): SigningSource<Payload, Subject, Type> {
  const checked = check(
    customSchema,
    // A missing secret is treated like an empty one.
    Object.assign({ secret: undefined }, options),
    options.provider ?? 'custom',
  )
  const {
    secret,
    toleranceSeconds,
    tenant,
    unwanted,
    mismatch,
    mode,
    redact,
    url,
    keyNames,
    confirm,
    onSecret,
    ...description
  } = checked
  // In this merged object `settings` holds the values. Their names are the names that the
  // description requires.
  const { settings } = description
  return compile(description, {
    secret,
    toleranceSeconds,
    tenant,
    unwanted,
    mismatch,
    mode,
    redact,
    url,
    keyNames,
    confirm,
    onSecret,
    settings,
    refusedStatus: description.refusedStatus,
  })
}
