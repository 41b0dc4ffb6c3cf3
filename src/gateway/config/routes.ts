import type { Fault } from '../../input/checked.ts'
import { didYouMean } from '../../input/closest.ts'
import type { Event } from '../../model/event.ts'
import { anyTypeMatcher } from '../../model/interest.ts'
import { typeMatcher } from '../../model/type-pattern.ts'
import { compileFilter, type Filter, filterFault } from './filter.ts'
import type { CheckedRoute } from './schema.ts'

/** The subscription of one destination to one source. */
export interface Route {
  readonly source: string
  readonly destination: string
  readonly types: readonly string[]
  /** Undefined: every event of these types. */
  readonly filter?: ((event: Event) => boolean) | undefined
}

/** The input from which routes are made. */
export interface RouteConfig {
  readonly sources: readonly string[]
  /** `sources` and `types` of a destination are a short form of a route. */
  readonly destinations: readonly {
    readonly name: string
    readonly sources?: readonly string[] | undefined
    readonly types?: string | undefined
  }[]
  readonly routes: readonly CheckedRoute[]
}

/** The types and filter of one route from a source to a destination. */
interface RouteRule {
  readonly source: string
  readonly destination: string
  readonly types: readonly string[]
  readonly where?: Filter | undefined
}

/** All subscriptions. Several routes from one source to one destination become one subscription. */
export function routesOf(routing: RouteConfig): { readonly routes: Route[]; readonly faults: Fault[] } {
  const faults: Fault[] = []
  const rules = [...shortForms(routing, faults), ...longForms(routing, faults)]
  const pairs = new Map<string, RouteRule[]>()
  for (const rule of rules) {
    const pair = JSON.stringify([rule.source, rule.destination])
    pairs.set(pair, [...(pairs.get(pair) ?? []), rule])
  }
  return { routes: [...pairs.values()].flatMap(joined), faults }
}

function joined(rules: readonly RouteRule[]): Route[] {
  const [first] = rules
  if (first === undefined) return []
  const { source, destination } = first
  const types = [...new Set(rules.flatMap((rule) => rule.types))]
  // Without a filter in one of the routes that want a type, every event of the type passes.
  if (rules.every(({ where }) => where === undefined)) return [{ source, destination, types }]
  const choices = rules.map((rule) => ({
    wantsType: anyTypeMatcher(rule.types),
    passes: rule.where === undefined ? () => true : compileFilter(rule.where),
  }))
  const filter = (event: Event): boolean =>
    choices.some(({ wantsType, passes }) => wantsType(event.type) && passes(event))
  return [{ source, destination, types, filter }]
}

/**
 * The routes that destinations declare themselves. A destination without any route gets everything.
 */
function shortForms({ sources, destinations, routes }: RouteConfig, faults: Fault[]): RouteRule[] {
  const routed = new Set(routes.flatMap(({ to }) => to))
  return destinations.flatMap(({ name, sources: wanted, types }) => {
    const path = ['destinations', name]
    if (!routed.has(name)) {
      const from =
        wanted === undefined ? sources : named(wanted, sources, { path: [...path, 'sources'], faults })
      return from.map((source) => ({ source, destination: name, types: [types ?? '*'] }))
    }
    if (wanted !== undefined || types !== undefined) {
      const message = 'routes name this destination: move its `sources` and `types` to a route'
      faults.push({ path, message, key: wanted === undefined ? 'types' : 'sources' })
    }
    return []
  })
}

function longForms({ sources, destinations, routes }: RouteConfig, faults: Fault[]): RouteRule[] {
  const names = destinations.map(({ name }) => name)
  return routes.flatMap(({ from, types, where, to }, index) => {
    const path = ['routes', index]
    const fault = where && filterFault(where)
    if (fault !== undefined) faults.push({ ...fault, path: [...path, 'where', ...fault.path] })
    const targets = [to].flat()
    for (const [at, target] of targets.entries()) {
      if (names.includes(target)) continue
      const message = `no destination is named "${target}"${didYouMean(target, names)}; there are: ${names.join(', ') || 'none'}`
      faults.push({ path: [...path, 'to', ...(Array.isArray(to) ? [at] : [])], message })
    }
    return named(from, sources, { path: [...path, 'from'], faults }).flatMap((source) =>
      targets.map((destination) => ({ source, destination, types: [types].flat(), where })),
    )
  })
}

/** The sources that match names and patterns. */
function named(
  wanted: string | readonly string[],
  sources: readonly string[],
  { path, faults }: { readonly path: readonly PropertyKey[]; readonly faults: Fault[] },
): string[] {
  const found = [wanted].flat().flatMap((pattern, at) => {
    const matching = sources.filter(typeMatcher(pattern))
    if (matching.length === 0) {
      const what = pattern.includes('*')
        ? `no source matches "${pattern}"`
        : `no source is named "${pattern}"`
      const message = `${what}${didYouMean(pattern, sources)}; there are: ${sources.join(', ') || 'none'}`
      faults.push({ path: Array.isArray(wanted) ? [...path, at] : path, message })
    }
    return matching
  })
  return [...new Set(found)]
}
