import { makeSource, readConfig, resolveSecret } from '../gateway/config.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider } from '../sources/catalogue/index.ts'
import type { NamedSource } from '../sources/contract.ts'
import { environmentOptions, secretVariable } from '../sources/environment.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, usageError } from './command.ts'

/** Options by which a command finds one source. */
export const sourceOptions = {
  config: { type: 'string' },
  secret: { type: 'string' },
  url: { type: 'string' },
  setting: { type: 'string', multiple: true, default: [] as string[] },
} as const

interface SourceValues {
  readonly config?: string | undefined
  readonly secret?: string | undefined
  readonly setting: readonly string[]
}

export interface FoundSource {
  readonly source: SigningSource
  /** All configured sources, including this one. */
  readonly all: readonly NamedSource[]
}

/**
 * With --config, the source of that name in the file. Otherwise a source of the provider of that
 * name, made from the options and the environment.
 */
export async function findSource(
  command: Pick<Command, 'usage'>,
  name: string,
  values: SourceValues & { readonly registeredUrl?: string | undefined },
): Promise<FoundSource> {
  if (values.config !== undefined) {
    const { sources } = await readConfig(values.config, process.env)
    const source = sources[name]
    if (source === undefined)
      throw usageError(
        command,
        `${values.config} has no source "${name}" (there are: ${Object.keys(sources).join(', ')})`,
      )
    return { source, all: Object.entries(sources).map(([each, one]) => ({ name: each, source: one })) }
  }
  const { description = { provider: name } } = (await findProvider(name)) ?? {}
  const held = environmentOptions(description, process.env)
  const url = values.registeredUrl ?? held.url
  const source = await makeSource(name, {
    // A provider without a shared secret needs none; any other is refused without one.
    secret: values.secret ? resolveSecret(values.secret, '--secret', process.env) : held.secret,
    ...(url === undefined ? {} : { url }),
    settings: { ...held.settings, ...settingsOf(command, values.setting) },
  }).catch((error) => {
    if (!(error instanceof HookonceError) || error.code !== 'SECRET_MISSING') throw error
    throw usageError(command, `give the secret with --secret env:NAME, or set ${secretVariable(name)}`)
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
