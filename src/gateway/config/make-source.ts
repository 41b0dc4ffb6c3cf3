import { didYouMean } from '../../input/closest.ts'
import { HookonceError } from '../../model/errors.ts'
import { findProvider, providerIds } from '../../sources/catalogue/index.ts'
import { custom } from '../../sources/custom.ts'
import type { Secret } from '../../sources/options.ts'
import type { SigningSource } from '../../sources/sign.ts'

/** A provider's factory checks its own options, so it gets the options of the file unchanged. */
export async function makeSource(
  provider: string,
  options: Record<string, unknown> & { readonly secret: Secret },
): Promise<SigningSource> {
  const make = provider === 'custom' ? custom : await findProvider(provider)
  if (make === undefined) throw unknownProvider(provider)
  return (make as (options: Record<string, unknown>) => SigningSource)(options)
}

function unknownProvider(name: string): HookonceError {
  const fault = `no provider is named "${name}"${didYouMean(name, providerIds)}`
  return new HookonceError('CONFIG_INVALID', `${fault}: \`hookonce sources\` lists the providers`)
}
