import { makeSource } from '../gateway/config/make-source.ts'
import { resolveSecret } from '../gateway/config/secrets.ts'
import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'
import { findProvider } from '../sources/catalogue/index.ts'
import type { NamedSource } from '../sources/contract.ts'
import { environmentOptions, secretVariable } from '../sources/environment.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, usageError } from './command.ts'
import { DEMO } from './demo.ts'
import { findDemoSource } from './demo-source.ts'

/** Options that select one source. */
export const sourceOptions = {
  config: { type: 'string' },
  secret: { type: 'string' },
  url: { type: 'string' },
  setting: { type: 'string', multiple: true, default: [] as string[] },
  dir: { type: 'string', default: '.hookonce' },
} as const

interface SourceValues {
  readonly config?: string | undefined
  readonly secret?: string | undefined
  readonly setting: readonly string[]
  /** The folder where `dev` keeps the secret of its demo source. */
  readonly dir: string
}

export interface FoundSource {
  readonly source: SigningSource
  /** All configured sources, including the found one. */
  readonly all: readonly NamedSource[]
}

/**
 * With --config, the source of that name in the file. Otherwise the demo source of `dev`, or a
 * source of the provider of that name, made from the options and the environment.
 */
export async function findSource(
  command: Pick<Command, 'usage'>,
  name: string,
  values: SourceValues & { readonly registeredUrl?: string | undefined },
): Promise<FoundSource> {
  if (values.config !== undefined) {
    // Imported only now, because it loads the YAML parser and every schema.
    const { readConfig } = await import('../gateway/config/config.ts')
    const { sources } = await readConfig(values.config, process.env)
    const source = sources[name]
    if (source === undefined)
      throw usageError(
        command,
        `${values.config} has no source "${name}"${didYouMean(name, Object.keys(sources))} (there are: ${Object.keys(sources).join(', ')})`,
      )
    return { source, all: Object.entries(sources).map(([each, one]) => ({ name: each, source: one })) }
  }
  if (name === DEMO && values.secret === undefined) {
    const source = findDemoSource(values.dir)
    if (source === undefined)
      throw usageError(
        command,
        `${values.dir} has no secret of "demo": start \`hookonce dev\` here, or give its --dir`,
      )
    return { source, all: [{ name, source }] }
  }
  const { description = { provider: name } } = (await findProvider(name)) ?? {}
  const held = environmentOptions(description, process.env)
  const url = values.registeredUrl ?? held.url
  const source = await makeSource(name, {
    // The factory refuses a missing secret, unless the provider has no shared secret.
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
