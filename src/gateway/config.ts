import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { check, strict } from '../model/checked.ts'
import { HookonceError } from '../model/errors.ts'
import type { SigningSource } from '../sources/index.ts'
import { custom, github, lemonsqueezy, shopify, standardWebhooks, stripe } from '../sources/index.ts'

/*
 * The gateway's configuration: a JSON file, so that it can be written by any tool and checked whole. Secrets are
 * named, not written: `env:NAME` or `file:/path`.
 */

const providers = {
  stripe,
  github,
  shopify,
  lemonsqueezy,
  'standard-webhooks': standardWebhooks,
  custom,
} as const
type ProviderName = keyof typeof providers
const providerNames = Object.keys(providers) as [ProviderName, ...ProviderName[]]

/** The options of a source are checked by its provider; here only what the gateway itself reads. */
const sourceSchema = z.looseObject({
  provider: z.enum(providerNames),
  secret: z.union([z.string(), z.array(z.string())], {
    error: 'expected "env:NAME" or "file:/path", or an array of those',
  }),
})

const destinationSchema = strict({
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  secret: z.string(),
  /** Which sources it wants; all of them without it. */
  sources: z.array(z.string()).optional(),
  types: z.string().default('*'),
  concurrency: z.int().positive().optional(),
  timeoutMs: z.number().positive().optional(),
})

const configSchema = strict({
  sources: z.record(z.string(), sourceSchema),
  destinations: z.record(z.string(), destinationSchema),
})

export interface ConfiguredDestination extends Omit<z.output<typeof destinationSchema>, 'secret'> {
  readonly name: string
  readonly secret: string
}

export interface GatewayConfig {
  readonly sources: Readonly<Record<string, SigningSource>>
  readonly destinations: readonly ConfiguredDestination[]
}

export function readConfig(path: string, env: NodeJS.ProcessEnv): GatewayConfig {
  return gatewayConfig(parseFile(path), path, env)
}

export function gatewayConfig(value: unknown, where: string, env: NodeJS.ProcessEnv): GatewayConfig {
  const config = check(configSchema, value, where)
  const sources = Object.fromEntries(
    Object.entries(config.sources).map(([name, { provider, secret, ...options }]) => {
      const secrets = [secret]
        .flat()
        .map((reference) => resolveSecret(reference, `${where}: sources.${name}.secret`, env))
      return [
        name,
        at(`${where}: sources.${name}`, () => makeSource(provider, { ...options, secret: secrets })),
      ]
    }),
  )
  const destinations = Object.entries(config.destinations).map(([name, destination]) => ({
    ...destination,
    name,
    secret: resolveSecret(destination.secret, `${where}: destinations.${name}.secret`, env),
  }))
  for (const { name, sources: wanted = [] } of destinations) {
    const unknown = wanted.find((source) => !Object.hasOwn(sources, source))
    if (unknown !== undefined) {
      throw new HookonceError(
        'CONFIG_INVALID',
        `${where}: destinations.${name}.sources: no source is named "${unknown}"`,
      )
    }
  }
  return { sources, destinations }
}

/** A provider's factory checks its own options, so what comes from a file may be handed to it as it is. */
export function makeSource(provider: ProviderName, options: Record<string, unknown>): SigningSource {
  const factory = providers[provider] as (options: Record<string, unknown>) => SigningSource
  return factory(options)
}

/** Says where in the file it was that a provider found fault. */
function at<Result>(where: string, make: () => Result): Result {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    throw new HookonceError(error.code, error.message.replace(`${error.code}: `, `${where}: `), {
      cause: error,
    })
  }
}

function resolveSecret(reference: string, where: string, env: NodeJS.ProcessEnv): string {
  const [scheme, ...rest] = reference.split(':')
  const name = rest.join(':')
  if (scheme === 'env') {
    const value = env[name]
    if (value) return value
    throw new HookonceError('SECRET_MISSING', `${where}: the environment has no ${name}`)
  }
  if (scheme === 'file') {
    try {
      return readFileSync(name, 'utf8').trim()
    } catch (error) {
      throw new HookonceError('SECRET_MISSING', `${where}: ${name} cannot be read`, { cause: error })
    }
  }
  throw new HookonceError(
    'CONFIG_INVALID',
    `${where}: name the secret as "env:NAME" or "file:/path", do not write it here`,
  )
}

function parseFile(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `${path} cannot be read: name another file with --config`, {
      cause: error,
    })
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${path} is not JSON: ${error instanceof Error ? error.message : ''}`,
    )
  }
}
