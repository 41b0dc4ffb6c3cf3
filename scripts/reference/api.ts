import { openApi } from '../../src/gateway/api/openapi.ts'
import type { Route } from '../../src/gateway/api/route.ts'
import { routes } from '../../src/gateway/api/routes.ts'
import { code, markdownTable } from './markdown.ts'

export function routeTable(): string {
  const rows = routes.map((route) => [
    `[${code(nameOf(route))}](api-routes.md#${anchorOf(nameOf(route))})`,
    `${route.access.role}${route.access.scope === 'ledger' ? '*' : ''}`,
    route.summary,
  ])
  return markdownTable(['route', 'least role', 'what it does'], rows)
}

/** A section per route: what it does, and the parameters and fields that it takes. */
export function routeSections(): string {
  return routes.map(sectionOf).join('\n\n')
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

/** As GitHub and the site make the id of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

/** The parts of an OpenAPI document that are shown. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
}

type Field = Omit<Schema, 'description'> & { readonly description?: string | undefined }

interface Operation {
  readonly description: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}

const { paths } = openApi(routes, '') as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

function sectionOf(route: Route): string {
  const operation = paths[route.path]?.[route.method.toLowerCase()]
  if (!operation) throw new Error(`the OpenAPI document has no ${nameOf(route)}`)
  const rows = [
    ...operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, description, schema }) => rowOf(name, { ...schema, description })),
    ...fieldsOf(operation.requestBody?.content['application/json'].schema),
  ]
  const head = route.method === 'POST' ? 'field' : 'parameter'
  return [
    `## ${code(nameOf(route))}`,
    `${route.summary}. ${operation.description}`,
    ...(rows.length === 0 ? [] : [markdownTable([head, 'value', 'meaning'], rows)]),
  ].join('\n\n')
}

function fieldsOf({ properties = {}, required = [] }: Schema = {}): string[][] {
  return Object.entries(properties).map(([name, schema]) => rowOf(name, schema, required.includes(name)))
}

function rowOf(name: string, { description, ...schema }: Field, isRequired = false): string[] {
  if (description === undefined) throw new Error(`the field ${name} has no description: add .meta()`)
  const preset = schema.default === undefined ? '' : `; default ${code(String(schema.default))}`
  return [code(name), `${valuesOf(schema)}${isRequired ? ', required' : preset}`, description]
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'object',
  array: 'list',
  null: '`null`',
}

function valuesOf({ type, enum: values, anyOf = [] }: Schema): string {
  if (values) return values.map((value) => code(String(value))).join(', ')
  if (type === undefined && anyOf.length === 0) return 'any JSON'
  const kinds = type === undefined ? anyOf.map(valuesOf) : [type].flat().map((one) => TYPES[one] ?? one)
  return [...new Set(kinds)].join(' or ')
}
