import { makeSource } from '../gateway/config/make-source.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider, providerIds } from '../sources/catalogue/index.ts'
import { checkDescription, needsUrl, type ProviderDescription } from '../sources/description.ts'
import {
  type EnvironmentOptions,
  environmentOptions,
  secretVariable,
  settingVariable,
  urlVariable,
} from '../sources/environment.ts'
import type { SigningSource } from '../sources/sign.ts'

export interface EnvironmentSources {
  readonly opened: readonly {
    readonly variable: string
    readonly name: string
    readonly source: SigningSource
    /** The URL that the provider signs, unless the environment names it. */
    readonly signedUrl: string | undefined
  }[]
  /** Providers whose secret is set, but which need further settings. */
  readonly leftOut: readonly { readonly variable: string; readonly why: string }[]
}

/**
 * Makes a source for each provider of the catalogue whose secret is in the environment. A provider
 * that signs its URL gets `localUrl`, unless the environment holds its URL too.
 */
export async function environmentSources(
  env: NodeJS.ProcessEnv,
  localUrl: (provider: string) => string | undefined,
): Promise<EnvironmentSources> {
  const opened = []
  const leftOut = []
  for (const name of providerIds) {
    const variable = secretVariable(name)
    const make = env[variable] ? await findProvider(name) : undefined
    if (make === undefined) continue
    const { url: namedUrl, ...held } = environmentOptions(make.description, env)
    const url = namedUrl ?? localUrl(name)
    try {
      const source = await makeSource(name, { ...held, ...(url === undefined ? {} : { url }) })
      const isSigned = namedUrl === undefined && needsUrl(checkDescription(make.description))
      opened.push({ variable, name, source, signedUrl: isSigned ? url : undefined })
    } catch (error) {
      if (!(error instanceof HookonceError)) throw error
      const missing = missingVariables(make.description, { url, ...held })
      const why =
        missing.length > 0
          ? `${name} needs ${missing.join(' and ')} too`
          : error.message.replace(`${error.code}: `, '')
      leftOut.push({ variable, why })
    }
  }
  return { opened, leftOut }
}

function missingVariables(
  description: ProviderDescription,
  { url, settings: held }: Omit<EnvironmentOptions, 'secret'>,
): string[] {
  const { provider, settings = {} } = description
  const missing = Object.keys(settings)
    .filter((name) => held[name] === undefined)
    .map((name) => settingVariable(provider, name))
  if (url === undefined && needsUrl(checkDescription(description))) missing.push(urlVariable(provider))
  return missing
}
