import type { Random } from '../chaos/random.ts'
import { chance, NASTY_VALUES, nastyText } from './mutate.ts'

/** The parts of a JSON Schema that the document of the admin API uses. */
export interface JsonSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly example?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: string
}

const MAX_DEPTH = 6
const WORDS = [
  'stripe',
  'default',
  'acme',
  'app',
  'failed',
  'processed',
  '2h',
  '7d',
  'a test',
  'invoice.paid',
]

/** A value that a schema mostly allows. */
export function valueFrom(random: Random, schema: JsonSchema, depth = 0): unknown {
  if (depth > MAX_DEPTH || chance(random, 30))
    return chance(random, 2) ? nastyText(random) : random.pick(NASTY_VALUES)
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (choices && choices.length > 0) return valueFrom(random, random.pick(choices), depth + 1)
  if (schema.const !== undefined) return schema.const
  if (schema.enum && schema.enum.length > 0) return random.pick(schema.enum)
  if (schema.example !== undefined && chance(random, 2)) return schema.example
  switch (schema.type) {
    case 'object':
      return objectOf(random, schema, depth)
    case 'array':
      return Array.from({ length: random.below(4) }, () => valueFrom(random, schema.items ?? {}, depth + 1))
    case 'integer':
    case 'number':
      return random.pick([schema.minimum ?? 0, schema.maximum ?? 100, 1, random.below(1_000), -1, 1.5])
    case 'boolean':
      return chance(random, 2)
    case 'null':
      return null
    default:
      return textOf(random, schema)
  }
}

function objectOf(random: Random, { properties = {}, required = [] }: JsonSchema, depth: number): object {
  const entries = Object.entries(properties).filter(([name]) => required.includes(name) || chance(random, 2))
  return Object.fromEntries(entries.map(([name, inner]) => [name, valueFrom(random, inner, depth + 1)]))
}

function textOf(random: Random, { format }: JsonSchema): string {
  if (format === 'uuid') return '0f8fad5b-d9cb-469f-a165-70867728950e'
  if (format === 'date-time') return '2026-01-31T12:00:00Z'
  return chance(random, 3) ? nastyText(random) : random.pick(WORDS)
}
