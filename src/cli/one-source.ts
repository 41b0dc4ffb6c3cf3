import { makeSource, readConfig, resolveSecret } from '../gateway/config.ts'
import { HookonceError } from '../model/errors.ts'
import type { NamedSource } from '../sources/diagnose/diagnose.ts'
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

/** The source of a configuration file by its name, or else one of a provider, with the secret that the options name. */
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
  const { secret = process.env[environmentName(name)] && `env:${environmentName(name)}` } = asked
  const source = await makeSource(name, {
    // Who shares no secret has none to name; who needs one says so.
    secret: secret ? resolveSecret(secret, '--secret', process.env) : undefined,
    ...(asked.registeredUrl === undefined ? {} : { url: asked.registeredUrl }),
    settings: settingsOf(command, asked.setting),
  }).catch((error) => {
    if (!(error instanceof HookonceError) || error.code !== 'SECRET_MISSING') throw error
    throw usageError(command, `name the secret by --secret env:NAME, or set ${environmentName(name)}`)
  })
  return { source, all: [{ name, source }] }
}

/** `STRIPE_WEBHOOK_SECRET`: where a secret is looked for that is not named. */
function environmentName(provider: string): string {
  return `${provider.toUpperCase().replaceAll('-', '_')}_WEBHOOK_SECRET`
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
