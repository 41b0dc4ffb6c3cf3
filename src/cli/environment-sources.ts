import { makeSource } from '../gateway/config.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider, providerIds } from '../sources/catalogue/index.ts'
import { checkDescription, needsUrl } from '../sources/description.ts'
import { environmentOptions, secretVariable, settingVariable, urlVariable } from '../sources/environment.ts'
import type { Provider } from '../sources/provider.ts'
import type { SigningSource } from '../sources/sign.ts'

export interface EnvironmentSources {
  readonly opened: readonly {
    readonly variable: string
    readonly name: string
    readonly source: SigningSource
  }[]
  /** Whose secret is there, but who cannot be opened with what is there. */
  readonly leftOut: readonly { readonly variable: string; readonly why: string }[]
}

/** A source for each provider of the catalogue whose secret is in the environment. Who signs its URL is given `localUrl`, unless that is set too. */
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
    const { url = localUrl(name), ...held } = environmentOptions(make.description, env)
    try {
      const source = await makeSource(name, { ...held, ...(url === undefined ? {} : { url }) })
      opened.push({ variable, name, source })
    } catch (error) {
      if (!(error instanceof HookonceError)) throw error
      leftOut.push({ variable, why: whyNot(make, env) ?? error.message.replace(`${error.code}: `, '') })
    }
  }
  return { opened, leftOut }
}

/** Which other variables are missing, if that is the reason. */
function whyNot({ description }: Provider, env: NodeJS.ProcessEnv): string | undefined {
  const { provider, settings = {} } = description
  const needed = Object.keys(settings).map((name) => settingVariable(provider, name))
  if (needsUrl(checkDescription(description))) needed.push(urlVariable(provider))
  const missing = needed.filter((variable) => !env[variable])
  return missing.length === 0 ? undefined : `${provider} needs ${missing.join(' and ')} too`
}
