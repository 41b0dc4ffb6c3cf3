import type { ProviderDescription } from './description.ts'

/*
 * The environment variables of a provider. The commands read them and the provider's page shows
 * them. Their names are defined only here.
 */

/**
 * `STRIPE_WEBHOOK_SECRET`, or `STANDARD_WEBHOOKS_SECRET` if the name already ends in `WEBHOOKS`.
 */
export function secretVariable(provider: string): string {
  const name = capitals(provider)
  return name.endsWith('_WEBHOOKS') ? `${name}_SECRET` : `${name}_WEBHOOK_SECRET`
}

/** `SQUARE_WEBHOOK_URL`: the registered URL, for providers that sign it. */
export function urlVariable(provider: string): string {
  return `${capitals(provider)}_WEBHOOK_URL`
}

/** `BRAINTREE_PUBLIC_KEY` for the setting `publicKey`. */
export function settingVariable(provider: string, setting: string): string {
  return `${capitals(provider)}_${capitals(setting)}`
}

export interface EnvironmentOptions {
  readonly secret: string | undefined
  readonly url: string | undefined
  readonly settings: Readonly<Record<string, string>>
}

/** The options of a provider that are set in the environment. */
export function environmentOptions(
  { provider, settings = {} }: Pick<ProviderDescription, 'provider' | 'settings'>,
  env: NodeJS.ProcessEnv,
): EnvironmentOptions {
  const given = Object.keys(settings).flatMap((name) => {
    const value = env[settingVariable(provider, name)]
    return value ? [[name, value]] : []
  })
  return {
    secret: env[secretVariable(provider)] || undefined,
    url: env[urlVariable(provider)] || undefined,
    settings: Object.fromEntries(given),
  }
}

function capitals(name: string): string {
  return name
    .replace(/[a-z](?=[A-Z])/g, '$&_')
    .replaceAll('-', '_')
    .toUpperCase()
}
