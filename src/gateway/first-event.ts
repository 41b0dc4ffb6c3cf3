import { shellWord } from '../input/shell-word.ts'
import { anyTypeMatcher } from '../model/interest.ts'
import { sampleEvents } from '../sources/sample-events.ts'
import type { GatewayConfig } from './config/config.ts'

export interface FirstEvent {
  readonly config: Pick<GatewayConfig, 'sources' | 'routes'>
  /** The file of this configuration. */
  readonly file: string
  readonly deliveryUrl: string
  /** The only tenant whose sources the caller may see. Undefined: all tenants. */
  readonly tenant: string | undefined
}

/**
 * A command that sends a signed event to this gateway, for its first source. The file is needed
 * because a source may have any name, and the URL because the gateway may have any port.
 */
export function firstEventCommand({ config, file, deliveryUrl, tenant }: FirstEvent): string | undefined {
  const name = firstSourceOf(config, tenant)
  if (name === undefined) return undefined
  const type = wantedType(config, name)
  const path = name.split('/').map(encodeURIComponent).join('/')
  return [
    'npx hookonce trigger',
    shellWord(name),
    ...(type === undefined ? [] : [shellWord(type)]),
    ...['--config', shellWord(file), '--url', shellWord(`${deliveryUrl}/in/${path}`)],
  ].join(' ')
}

/** The first source that a caller of this tenant may see, by its key in the configuration. */
export function firstSourceOf(
  { sources }: Pick<GatewayConfig, 'sources'>,
  tenant: string | undefined,
): string | undefined {
  return Object.entries(sources).find(([, source]) => (tenant ?? source.tenant) === source.tenant)?.[0]
}

/**
 * A type that a destination gets, because an event of another type is not recorded. Undefined: the
 * usual type of the provider will do.
 */
function wantedType({ sources, routes }: FirstEvent['config'], name: string): string | undefined {
  const source = sources[name]
  const patterns = routes.filter((route) => route.source === name).flatMap(({ types }) => types)
  const [usual] = source === undefined ? [] : sampleEvents(source, {}, 1)
  if (usual === undefined || anyTypeMatcher(patterns)(usual.type)) return undefined
  const literal = patterns.find((pattern) => !pattern.includes('*'))
  // Any word fits the pattern, and events that create something are common.
  return literal ?? patterns[0]?.replaceAll('*', 'created')
}
