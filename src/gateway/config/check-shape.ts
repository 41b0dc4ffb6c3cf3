import { destinationSchema } from '../../forward/destination.ts'
import { type Fault, faultsOf } from '../../input/checked.ts'
import { PLAIN } from '../../input/plain-issues.ts'
import type { ReadFile } from './read-file.ts'
import { type CheckedConfig, configSchema } from './schema.ts'

/*
 * Checks the shape of a configuration. A fault does not hide other faults: the rest is checked as
 * if the faulty value were absent. With a fault, the configuration is never used.
 */

export interface Shape {
  readonly faults: readonly Fault[]
  /** The configuration without its faulty parts. Undefined: no valid part is left. */
  readonly config: CheckedConfig | undefined
  /** Every name in the file. A route to a faulty part is then not a second fault. */
  readonly names: { readonly sources: readonly string[]; readonly destinations: readonly string[] }
  /** The index in the file of each route of `config`. */
  readonly routeNumbers: readonly number[]
}

export function checkShape({ value }: ReadFile): Shape {
  const given = value ?? {}
  const { success, data, error } = configSchema.safeParse(given, PLAIN)
  if (success) return { ...partsOf(given, []), faults: [], config: data }
  const faults = faultsOf(error.issues)
  const parts = partsOf(given, faults)
  const rest = configSchema.safeParse(parts.value, PLAIN)
  return { ...parts, faults, config: rest.data }
}

type Values = Readonly<Record<string, unknown>>

interface Parts extends Pick<Shape, 'names' | 'routeNumbers'> {
  readonly value: Values
}

/** Returns a configuration without its faulty parts. */
function partsOf(given: unknown, faults: readonly Fault[]): Parts {
  const value = valuesOf(given)
  const isWhole = (top: string): boolean =>
    !faults.some(({ path: [first, name] }) => first === top && name === undefined)
  const faulty = (top: string): Set<PropertyKey | undefined> =>
    new Set(faults.flatMap(({ path: [first, name] }) => (first === top ? [name] : [])))
  const named = (top: 'sources' | 'destinations'): Values =>
    isWhole(top) ? repaired(top, valuesOf(value[top]), faults) : {}
  const routes = Array.isArray(value.routes) && isWhole('routes') ? value.routes.entries() : []
  const kept = [...routes].flatMap(([number, route]) => {
    const own = faults.filter(({ path: [top, at] }) => top === 'routes' && at === number)
    if (own.length === 0) return [{ number, route }]
    const keys = new Set(own.map(({ path }) => path[2]))
    const isLost = !own.every(({ path }) => path[2] === 'where' || path[2] === 'types')
    return isLost ? [] : [{ number, route: without(valuesOf(route), keys) }]
  })
  const options = Object.keys(configSchema.shape).flatMap((key): [string, unknown][] => {
    if (!isWhole(key) || value[key] === undefined) return []
    return [[key, faulty(key).size === 0 ? value[key] : without(valuesOf(value[key]), faulty(key))]]
  })
  return {
    value: {
      ...Object.fromEntries(options),
      sources: named('sources'),
      destinations: named('destinations'),
      routes: kept.map(({ route }) => route),
    },
    names: {
      sources: Object.keys(valuesOf(value.sources)),
      destinations: Object.keys(valuesOf(value.destinations)),
    },
    routeNumbers: kept.map(({ number }) => number),
  }
}

function valuesOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function without(values: Values, names: ReadonlySet<PropertyKey | undefined>): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)))
}

/**
 * The options that each kind of part needs for further checks, with replacements for faulty values.
 */
const REPAIRS = {
  sources: { needed: ['provider'], instead: {}, known: undefined },
  destinations: {
    needed: ['secret'],
    instead: { url: 'https://hookonce.invalid/' },
    known: Object.keys(destinationSchema.shape),
  },
} as const

/**
 * The sources or destinations without their faulty values. Their other values may have faults too.
 */
function repaired(top: keyof typeof REPAIRS, parts: Values, faults: readonly Fault[]): Values {
  const { needed, instead, known } = REPAIRS[top]
  const entries = Object.entries(parts).flatMap(([name, part]): [string, Values][] => {
    const own = faults.filter(({ path }) => path[0] === top && path[1] === name)
    const keys = new Set(own.map(({ path }) => path[2]))
    // For an unknown key, the fault is placed at the part itself, and names the key.
    const isLost = own.some(({ path, key }) => path.length === 2 && (key === undefined || key === name))
    if (isLost || needed.some((key) => keys.has(key))) return []
    const kept = Object.entries(valuesOf(part)).filter(
      ([key]) => !keys.has(key) && (known === undefined || known.some((one) => one === key)),
    )
    const replaced = Object.entries(instead).filter(([key]) => keys.has(key))
    return [[name, Object.fromEntries([...kept, ...replaced])]]
  })
  return Object.fromEntries(entries)
}
