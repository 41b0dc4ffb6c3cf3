import { checkDescription, type ProviderDescription } from './description.ts'
import { checkOptions, type SourceOptions } from './options.ts'
import { compile } from './schemes/compile.ts'
import type { SigningSource } from './sign.ts'

/** Makes the factory of one provider of the catalogue. Nothing is checked or prepared before it is called. */
export function provider<Payload, Subject, Type extends string>(
  description: ProviderDescription,
): (options: SourceOptions) => SigningSource<Payload, Subject, Type> {
  return (options) => compile(checkDescription(description), checkOptions(options, description.provider))
}
