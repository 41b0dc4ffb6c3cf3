import { z } from 'zod'
import { type Fault, strict } from '../../input/checked.ts'
import type { Event } from '../../model/event.ts'

/*
 * The filter of a route: conditions on the body and the headers of an event. Its work is bounded by
 * the configuration, not by the event: it follows paths, and never searches.
 */

const MAX_CONDITIONS = 100
const MAX_DEPTH = 5
const MAX_VALUES = 1_000
const MAX_SEGMENTS = 32

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'expected a text, a number, true, false or null',
})
const number = z.number()

const conditionFields = {
  /** A path in the parsed body: `data.object.amount`, `items.0.sku`, or an array of keys. */
  body: z.union([z.string().min(1), z.array(z.string()).min(1)]).optional(),
  /** The name of a header. */
  header: z.string().min(1).toLowerCase().optional(),
  equals: scalar.optional(),
  in: z.array(scalar).min(1).max(MAX_VALUES).optional(),
  /** Whether a value must exist, or must not. `null` counts as a value. */
  exists: z.boolean().optional(),
  prefix: z.string().min(1).optional(),
  greaterThan: number.optional(),
  atLeast: number.optional(),
  lessThan: number.optional(),
  atMost: number.optional(),
}

const GROUPS = ['all', 'any', 'not'] as const

/**
 * A condition must not have the keys of a group. Otherwise a group with a mistake would pass as a
 * condition.
 */
const noGroup = z.never().optional()

const condition = strict({ ...conditionFields, all: noGroup, any: noGroup, not: noGroup })

const OPERATORS = [
  'equals',
  'in',
  'exists',
  'prefix',
  'greaterThan',
  'atLeast',
  'lessThan',
  'atMost',
] as const

type Condition = Omit<z.output<typeof condition>, (typeof GROUPS)[number]>
type Group =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
export type Filter = Condition | Group

/** A condition, or conditions joined by `all`, `any` and `not`. */
export const filterSchema: z.ZodType<Filter, Filter> = z
  .lazy(() =>
    z.union(
      [
        strict({ all: z.array(filterSchema).min(1) }),
        strict({ any: z.array(filterSchema).min(1) }),
        strict({ not: filterSchema }),
        condition,
      ],
      { error: 'expected a condition such as { "body": "data.amount", "atLeast": 100 }, or all, any or not' },
    ),
  )
  .meta({ id: 'filter' })

/** The fault of a well-formed filter, and its place. Undefined: the filter is valid. */
export function filterFault(filter: Filter): Fault | undefined {
  const conditions = conditionsOf(filter, [])
  const tooDeep = conditions.find(({ path }) => path.filter(isGroup).length >= MAX_DEPTH)
  if (tooDeep) return { path: tooDeep.path, message: `conditions may be nested ${MAX_DEPTH} deep` }
  if (conditions.length > MAX_CONDITIONS)
    return { path: [], message: `at most ${MAX_CONDITIONS} conditions are allowed` }
  for (const { condition, path } of conditions) {
    const message = conditionFault(condition)
    if (message !== undefined) return { path, message }
  }
  return undefined
}

function conditionFault(given: Condition): string | undefined {
  if ((given.body === undefined) === (given.header === undefined))
    return 'a condition needs a "body" path or a "header", and not both'
  if (OPERATORS.every((name) => given[name] === undefined))
    return `a condition needs one of ${OPERATORS.join(', ')}`
  if (given.body !== undefined && segmentsOf(given.body).length > MAX_SEGMENTS)
    return `a path has at most ${MAX_SEGMENTS} parts`
  return undefined
}

interface PlacedCondition {
  readonly condition: Condition
  readonly path: readonly PropertyKey[]
}

function conditionsOf(filter: Filter, path: readonly PropertyKey[]): PlacedCondition[] {
  if ('all' in filter) return filter.all.flatMap((part, at) => conditionsOf(part, [...path, 'all', at]))
  if ('any' in filter) return filter.any.flatMap((part, at) => conditionsOf(part, [...path, 'any', at]))
  if ('not' in filter) return conditionsOf(filter.not, [...path, 'not'])
  return [{ condition: filter, path }]
}

function isGroup(key: PropertyKey): boolean {
  return GROUPS.some((name) => name === key)
}

/** Whether an event passes the filter. */
export function compileFilter(filter: Filter): (event: Event) => boolean {
  if ('all' in filter) {
    const parts = filter.all.map(compileFilter)
    return (event) => parts.every((passes) => passes(event))
  }
  if ('any' in filter) {
    const parts = filter.any.map(compileFilter)
    return (event) => parts.some((passes) => passes(event))
  }
  if ('not' in filter) {
    const passes = compileFilter(filter.not)
    return (event) => !passes(event)
  }
  return compileCondition(filter)
}

function compileCondition(given: Condition): (event: Event) => boolean {
  const read = reader(given)
  const tests = testsOf(given)
  return (event) => {
    const value = read(event)
    return tests.every((test) => test(value))
  }
}

function reader({ body, header }: Condition): (event: Event) => unknown {
  if (header !== undefined)
    return ({ headers }) => (Object.hasOwn(headers, header) ? headers[header] : undefined)
  const segments = segmentsOf(body ?? [])
  return ({ payload }) => segments.reduce(memberOf, payload)
}

function segmentsOf(path: string | readonly string[]): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** Own properties only: no event has a "constructor", and no array a "length". */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !isEnumerable.call(value, name)) return undefined
  return Reflect.get(value, name)
}

const isEnumerable = Object.prototype.propertyIsEnumerable

type Test = (value: unknown) => boolean

function testsOf({ equals, in: among, exists, prefix, ...bounds }: Condition): Test[] {
  const { greaterThan, atLeast, lessThan, atMost } = bounds
  const values = among && new Set<unknown>(among)
  const tests: (Test | undefined)[] = [
    equals === undefined ? undefined : (value) => value === equals,
    values && ((value) => values.has(value)),
    exists === undefined ? undefined : (value) => (value !== undefined) === exists,
    prefix === undefined ? undefined : (value) => typeof value === 'string' && value.startsWith(prefix),
    greaterThan === undefined ? undefined : (value) => numberOf(value) > greaterThan,
    atLeast === undefined ? undefined : (value) => numberOf(value) >= atLeast,
    lessThan === undefined ? undefined : (value) => numberOf(value) < lessThan,
    atMost === undefined ? undefined : (value) => numberOf(value) <= atMost,
  ]
  return tests.filter((test) => test !== undefined)
}

/** Amounts are often texts ("12.50"). Anything else becomes NaN, which fails every comparison. */
function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{1,30}(\.\d{1,30})?$/.test(value) ? Number(value) : Number.NaN
}
