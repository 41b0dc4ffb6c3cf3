import { checkDescription, type ProviderDescription } from './description.ts'
import { checkOptions, type SourceOptions } from './options.ts'
import { compile } from './schemes/compile.ts'
import type { MakeScheme } from './schemes/custom-scheme.ts'
import type { SigningSource } from './sign.ts'

/**
 * Creates sources of one provider of the catalogue. Its description also serves as its
 * documentation.
 */
export interface Provider<
  Payload = unknown,
  Subject = unknown,
  Type extends string = string,
  Options = SourceOptions,
  Shapes = unknown,
> {
  (options: Options): SigningSource<Payload, Subject, Type, Shapes>
  readonly description: ProviderDescription
}

/**
 * Creates the factory of one provider of the catalogue. Nothing is checked or prepared until it is
 * called.
 */
export function provider<
  Payload = unknown,
  Subject = unknown,
  Type extends string = string,
  Shapes = unknown,
>(
  description: ProviderDescription,
  code?: MakeScheme,
): Provider<Payload, Subject, Type, SourceOptions, Shapes> {
  const make = (options: SourceOptions): SigningSource<Payload, Subject, Type, Shapes> =>
    compile(checkDescription(description), checkOptions(options, description.provider), code)
  return Object.assign(make, { description })
}

/**
 * A provider whose factory takes the types of the provider's own SDK: `stripe<Stripe.Event>()`. Its
 * call signature defines their meaning. A source of `never` has all types.
 */
export function typedProvider(
  description: ProviderDescription,
): Provider<never, never, never, SourceOptions, never> {
  return provider<never, never, never, never>(description)
}

/** A provider without a shared secret: its keys are fetched. */
export function keyless<Payload = unknown, Subject = unknown, Type extends string = string>(
  description: ProviderDescription,
  code: MakeScheme,
): Provider<Payload, Subject, Type, Omit<SourceOptions, 'secret'>> {
  const make = provider<Payload, Subject, Type>(description, code)
  return Object.assign((options: Omit<SourceOptions, 'secret'>) => make({ ...options, secret: undefined }), {
    description,
  })
}
