import { z } from 'zod'
import { code, markdownTable } from './markdown.ts'

/*
 * Tables of options, from their schemas: the text of `.describe()`, and the default. If the default
 * does not follow from the schema, `.meta({ defaultsTo })` names it.
 */

export interface OptionTable {
  /** The heading of the first column. */
  readonly head?: string
  /** Follows the name of an option. */
  readonly mark?: (name: string) => string
}

export function optionTable(
  schema: z.ZodType,
  { head = 'option', mark = () => '' }: OptionTable = {},
): string {
  return markdownTable(
    [head, 'default', 'meaning'],
    optionsOf(schema).map(([name, preset, meaning]) => [`${code(name)}${mark(name)}`, preset, meaning]),
  )
}

type OptionRow = readonly [name: string, preset: string, meaning: string]

/** An option that is an object has one row if it is described, else a row for each of its keys. */
function optionsOf(schema: z.ZodType, parents = ''): OptionRow[] {
  return Object.entries(shapeOf(schema) ?? {}).flatMap(([key, field]): OptionRow[] => {
    const name = `${parents}${key}`
    const { description, defaultsTo } = metaOf(field)
    if (description !== undefined)
      return [[name, String(defaultsTo ?? presetOf(key, field)), String(description)]]
    const { innermost } = layersOf(field)
    if (innermost instanceof z.ZodRecord)
      return optionsOf(innermost.valueType as z.ZodType, `${name}.<name>.`)
    if (!shapeOf(field)) throw new Error(`the option ${name} has no .describe(): say what it means`)
    return optionsOf(field, `${name}.`)
  })
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  const { innermost } = layersOf(schema)
  return innermost instanceof z.ZodObject ? innermost.shape : undefined
}

/** A schema, and those that it wraps: `z.string().default('a')` wraps a string. */
function layersOf(schema: z.ZodType): { readonly layers: z.ZodType[]; readonly innermost: z.ZodType } {
  const layers = [schema]
  for (const layer of layers) {
    const def: object = layer.def
    if ('innerType' in def && def.innerType instanceof z.ZodType) layers.push(def.innerType)
  }
  return { layers, innermost: layers.at(-1) ?? schema }
}

/** The outermost text counts. */
function metaOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return Object.assign(
    {},
    ...layersOf(schema)
      .layers.map((layer) => layer.meta() ?? {})
      .reverse(),
  )
}

/** The default as a reader knows it. Empty: the option is required. */
function presetOf(key: string, schema: z.ZodType): string {
  for (const layer of layersOf(schema).layers) {
    if (layer instanceof z.ZodDefault || layer instanceof z.ZodPrefault)
      return presetText(key, layer.def.defaultValue)
    if (layer instanceof z.ZodOptional) return 'none'
  }
  return ''
}

function presetText(key: string, value: unknown): string {
  if (typeof value === 'number') return numberText(key, value)
  if (typeof value === 'string') return code(value)
  return typeof value === 'object' && Object.keys(value ?? {}).length === 0 ? 'none' : code(String(value))
}

const MS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const
const BYTES = [
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
] as const

/** `30 s` for the default of `leaseMs`: the name of an option ends in its unit. */
function numberText(key: string, value: number): string {
  if (key.endsWith('Ms')) return inUnits(value, MS, 'ms')
  if (key.endsWith('Bytes')) return inUnits(value, BYTES, 'bytes')
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, value < 1 ? '' : ' ')
}

function inUnits(value: number, units: readonly (readonly [number, string])[], smallest: string): string {
  // 90 seconds are not 1.5 minutes, and two days are 48 hours.
  const [size, unit] = units.find(([each]) => value % each === 0) ?? [1, smallest]
  return `${value / size} ${unit}`
}
