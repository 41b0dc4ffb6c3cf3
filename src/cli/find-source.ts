import { makeSource, readConfig, resolveSecret } from '../gateway/config.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider } from '../sources/catalogue/index.ts'
import type { NamedSource } from '../sources/contract.ts'
import { environmentOptions, secretVariable } from '../sources/environment.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, usageError } from './command.ts'

/** Options by which a command is told whose deliveries it is about. */
export const oneSourceOptions = {
  config: { type: 'string' },
  secret: { type: 'string' },
  url: { type: 'string' },
  setting: { type: 'string', multiple: true, default: [] as string[] },
} as const

interface Asked {
  readonly config?: string | undefined
  readonly secret?: string | undefined
  readonly setting: readonly string[]
}

export interface OneSource {
  readonly source: SigningSource
  /** All that are configured, itself among them. */
  readonly all: readonly NamedSource[]
}

/**
 * The source of a configuration file by its name, or else one of a provider, with what the options
 * and the environment tell.
 */
export async function oneSource(
  command: Pick<Command, 'usage'>,
  name: string,
  asked: Asked & { readonly registeredUrl?: string | undefined },
): Promise<OneSource> {
  if (asked.config !== undefined) {
    const { sources } = await readConfig(asked.config, process.env)
    const source = sources[name]
    if (source === undefined)
      throw usageError(
        command,
        `${asked.config} has no source "${name}" (there are: ${Object.keys(sources).join(', ')})`,
      )
    return { source, all: Object.entries(sources).map(([each, one]) => ({ name: each, source: one })) }
  }
  const { description = { provider: name } } = (await findProvider(name)) ?? {}
  const held = environmentOptions(description, process.env)
  const url = asked.registeredUrl ?? held.url
  const source = await makeSource(name, {
    // Who shares no secret has none to name; who needs one says so.
    secret: asked.secret ? resolveSecret(asked.secret, '--secret', process.env) : held.secret,
    ...(url === undefined ? {} : { url }),
    settings: { ...held.settings, ...settingsOf(command, asked.setting) },
  }).catch((error) => {
    if (!(error instanceof HookonceError) || error.code !== 'SECRET_MISSING') throw error
    throw usageError(command, `name the secret by --secret env:NAME, or set ${secretVariable(name)}`)
  })
  return { source, all: [{ name, source }] }
}

function settingsOf(command: Pick<Command, 'usage'>, given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const cut = pair.indexOf('=')
      if (cut <= 0) throw usageError(command, `--setting is written as name=value, not "${pair}"`)
      return [pair.slice(0, cut), pair.slice(cut + 1)]
    }),
  )
}
