import { placeOf } from '../forward/forward.ts'
import type { GatewayConfig } from '../gateway/config/config.ts'
import { sourceNameOf } from '../model/source-key.ts'
import { print, printJson, safe, table } from './print.ts'

/** A summary of a parsed configuration, without secrets. */
interface Understood {
  readonly file: string
  readonly sources: readonly {
    readonly name: string
    readonly provider: string
    readonly tenant: string
    /** The path of its deliveries. */
    readonly path: string
    readonly limits: object
  }[]
  readonly destinations: readonly { readonly name: string; readonly url: string }[]
  readonly routes: readonly {
    readonly source: string
    readonly types: readonly string[]
    readonly filtered: boolean
    readonly destination: string
  }[]
  readonly limits: object
  readonly retention: object
}

export function printUnderstood(
  config: GatewayConfig,
  { file, json }: { readonly file: string; readonly json: boolean },
): void {
  const understood = understoodOf(config, file)
  if (json) return printJson(understood)
  const { sources, destinations, routes } = understood
  print(
    [
      `${file} is valid`,
      table(
        ['SOURCE', 'PROVIDER', 'TENANT', 'PATH'],
        sources.map(({ name, provider, tenant, path }) => [name, provider, safe(tenant), safe(path)]),
      ),
      table(
        ['DESTINATION', 'URL'],
        destinations.map(({ name, url }) => [safe(name), safe(url)]),
      ),
      table(
        ['FROM', 'TYPES', 'FILTER', 'TO'],
        routes.map(({ source, types, filtered, destination }) => [
          source,
          safe(types.join(', ')),
          filtered ? 'yes' : '',
          safe(destination),
        ]),
      ),
    ].join('\n\n'),
  )
}

function understoodOf(config: GatewayConfig, file: string): Understood {
  const { sources, sourceLimits, destinations, routes, limits = {}, retention = {} } = config
  return {
    file,
    sources: Object.entries(sources).map(([name, { provider, tenant }]) => ({
      name,
      provider,
      tenant,
      path:
        name.includes('/') || tenant === 'default' ? `/in/${name}` : `/in/${tenant}/${sourceNameOf(name)}`,
      limits: sourceLimits[name] ?? {},
    })),
    destinations: destinations.map(({ name, url }) => ({ name, url: placeOf(url) })),
    routes: routes.map(({ source, types, filter, destination }) => ({
      source,
      types,
      filtered: filter !== undefined,
      destination,
    })),
    limits,
    retention,
  }
}
