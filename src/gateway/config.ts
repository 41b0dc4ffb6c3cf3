import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { headerPattern } from '../forward/headers.ts'
import { targetSecret, targetUrl } from '../http/target.ts'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider, providerIds } from '../sources/catalogue/index.ts'
import { custom } from '../sources/custom.ts'
import type { Secret } from '../sources/options.ts'
import type { SigningSource } from '../sources/sign.ts'

/*
 * The gateway's configuration is a JSON file, so that any tool can write it and it can be checked
 * as a whole. It refers to secrets by `env:NAME` or `file:/path`, and never contains them.
 */

/** Checks only what the gateway itself reads. The provider checks the other options. */
const sourceSchema = z.looseObject({
  provider: z.enum(['custom', ...providerIds], {
    error: ({ input }) => `no provider is named "${String(input)}": \`hookonce sources\` lists them`,
  }),
  // Some providers have no secret. The others report a missing one.
  secret: z
    .union([z.string(), z.array(z.string())], {
      error: 'expected "env:NAME" or "file:/path", or an array of those',
    })
    .optional(),
})

/** The fault of a destination's URL, without the URL itself, which may hold a password. */
export function destinationUrlFault(text: string): string | undefined {
  return targetUrl.safeParse(text).error?.issues[0]?.message
}

export const destinationSchema = strict({
  url: targetUrl,
  secret: z.string({ error: 'pass the secret as "env:NAME" or "file:/path": it signs forwarded events' }),
  /** The sources whose events it gets; without it, all. */
  sources: z.array(z.string()).optional(),
  types: z.string().default('*'),
  /** Headers of the delivery to forward, besides those that the source reads. */
  headers: z.array(headerPattern).optional(),
  concurrency: z.int().positive().optional(),
  timeoutMs: z.number().positive().optional(),
})

/** The admin listener. Options of the command line take precedence. */
const adminSchema = strict({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  token: z.string({ error: 'pass the token as "env:NAME" or "file:/path"' }).optional(),
})

const configSchema = strict({
  sources: z.record(
    z.string(),
    sourceSchema,
    whenMissing('add at least one source: { "stripe": { "provider": "stripe", "secret": "env:NAME" } }'),
  ),
  destinations: z.record(
    z.string(),
    destinationSchema,
    whenMissing('add at least one destination: { "app": { "url": "http://…", "secret": "env:NAME" } }'),
  ),
  admin: adminSchema.optional(),
})

function whenMissing(message: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) => (input === undefined ? message : undefined),
  }
}

export interface ConfiguredDestination extends Omit<z.output<typeof destinationSchema>, 'secret'> {
  readonly name: string
  readonly secret: string
}

export type ConfiguredAdmin = Readonly<z.output<typeof adminSchema>>

export interface GatewayConfig {
  readonly sources: Readonly<Record<string, SigningSource>>
  readonly destinations: readonly ConfiguredDestination[]
  readonly admin?: ConfiguredAdmin
}

export function readConfig(path: string, env: NodeJS.ProcessEnv): Promise<GatewayConfig> {
  return gatewayConfig(parseFile(path), path, env)
}

export async function gatewayConfig(
  value: unknown,
  where: string,
  env: NodeJS.ProcessEnv,
): Promise<GatewayConfig> {
  const config = check(configSchema, value, where)
  const sources: Record<string, SigningSource> = {}
  for (const [name, { provider, secret = [], ...options }] of Object.entries(config.sources)) {
    const place = `${where}: sources.${name}`
    const secrets = [secret].flat().map((reference) => secretPlace(reference, `${place}.secret`, env))
    sources[name] = await at(place, () =>
      makeSource(provider, { ...options, secret: secrets.length > 0 ? secrets : undefined }),
    )
  }
  const destinations = Object.entries(config.destinations).map(([name, destination]) => ({
    ...destination,
    name,
    secret: destinationSecret(destination.secret, `${where}: destinations.${name}.secret`, env),
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
  return { sources, destinations, admin: adminOf(config.admin ?? {}, where, env) }
}

function adminOf(
  { token, ...admin }: ConfiguredAdmin,
  where: string,
  env: NodeJS.ProcessEnv,
): ConfiguredAdmin {
  if (token === undefined) return admin
  return {
    ...admin,
    token: ownSecret(token, `${where}: admin.token`, { env, use: 'it opens the admin listener' }),
  }
}

/** A provider's factory checks its own options, so it gets those of the file as they are. */
export async function makeSource(
  provider: string,
  options: Record<string, unknown> & { readonly secret: Secret },
): Promise<SigningSource> {
  const make = provider === 'custom' ? custom : await findProvider(provider)
  if (make === undefined) throw new HookonceError('CONFIG_INVALID', `no provider is named "${provider}"`)
  return (make as (options: Record<string, unknown>) => SigningSource)(options)
}

/** Adds the place in the file to the error of a provider. */
async function at<Result>(where: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make()
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    throw new HookonceError(error.code, error.message.replace(`${error.code}: `, `${where}: `), {
      cause: error,
    })
  }
}

/** Secret files are read again while the gateway runs, so a rotated secret needs no restart. */
function secretPlace(reference: string, where: string, env: NodeJS.ProcessEnv): string | { file: string } {
  const text = resolveSecret(reference, where, env)
  return reference.startsWith('file:') ? { file: reference.slice('file:'.length) } : text
}

function destinationSecret(reference: string, where: string, env: NodeJS.ProcessEnv): string {
  return check(targetSecret, ownSecret(reference, where, { env, use: 'it signs forwarded events' }), where)
}

/** A secret that belongs to no source. SECRET_MISSING would give advice about sources. */
function ownSecret(
  reference: string,
  where: string,
  { env, use }: { readonly env: NodeJS.ProcessEnv; readonly use: string },
): string {
  try {
    return resolveSecret(reference, where, env)
  } catch (error) {
    if (!(error instanceof HookonceError) || error.code !== 'SECRET_MISSING') throw error
    const detail = error.message.replace(`${error.code}: `, '')
    throw new HookonceError('CONFIG_INVALID', `${detail}: ${use}`, { cause: error })
  }
}

export function resolveSecret(reference: string, where: string, env: NodeJS.ProcessEnv): string {
  const [scheme, ...rest] = reference.split(':')
  const name = rest.join(':')
  if (scheme === 'env') {
    const value = env[name]
    if (value) return value
    throw new HookonceError(
      'SECRET_MISSING',
      `${where}: the environment variable ${name} is empty or not set`,
    )
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
    `${where}: pass the secret as "env:NAME" or "file:/path"; the secret itself does not belong here`,
  )
}

function parseFile(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `${path} cannot be read; pass another file with --config`, {
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
