import { z } from 'zod'
import { errorCatalogue } from '../../model/errors.ts'
import type { Route } from './route.ts'

/* The OpenAPI 3.1 document, generated from the routes of the dispatcher. */

type Json = Record<string, unknown>

const VERSION = '1'

const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(errorCatalogue)),
    retryable: z.boolean(),
    errors: z.array(z.object({ at: z.string(), message: z.string() })).optional(),
  })
  .meta({ description: 'Problem details (RFC 9457).' })

const TAGS: Readonly<Record<string, string>> = {
  events: 'Received events, and their results.',
  failures: 'Failed jobs, grouped by their error.',
  attention: 'Effects whose outcome is unknown, and the decisions on them.',
  rejections: 'Deliveries that were refused, and why.',
  outbox: 'Messages that were committed with business writes.',
  replays: 'Many jobs, processed again at a limited rate.',
  retries: 'Jobs that wait for their next attempt.',
  sources: 'Who sends.',
  subscribers: 'Who wants the events.',
  destinations: 'The destinations to which this gateway forwards events.',
  workers: 'The running workers and relays.',
  stats: 'Counts over time.',
  stream: 'Changes, as they are committed.',
  alerts: 'Open alerts, and who handles them.',
  captured: 'Requests to sources that are not configured. Only `hookonce dev` keeps them.',
  gateway: 'What this gateway is.',
  audit: 'What operators did.',
  tokens: 'Who may use this API.',
  session: 'Log-ins of browsers.',
  document: 'This document.',
}

/** `mount` is the path that all routes begin with. */
export function openApi(routes: readonly Route[], mount: string): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'hookonce admin API',
      version: VERSION,
      description: 'The admin API of a hookonce gateway.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: mount }],
    security: [{ token: [] }, { session: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemSchema, 'output') },
      responses: {
        Problem: {
          description: 'The request was refused, or failed.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of `hookonce token create`, or HOOKONCE_ADMIN_TOKEN.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-hookonce',
          description: 'The session cookie of POST /session. On a loopback address the name is `hookonce`.',
        },
      },
    },
  }
}

function operationOf(route: Route): Json {
  const { access, tag, summary, description, body, status } = route
  const scope = access.scope === 'ledger' ? ', not bound to a tenant' : ''
  const needs = access.role === 'anyone' ? 'Needs no token.' : `Needs the role ${access.role}${scope}.`
  return {
    operationId: operationId(route),
    tags: [tag],
    summary,
    description: description === undefined ? needs : `${description} ${needs}`,
    ...(access.role === 'anyone' ? { security: [] } : {}),
    parameters: parametersOf(route),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(body, 'input') } },
          },
        }
      : {}),
    responses: { [status]: successOf(route), '4XX': PROBLEM, '5XX': PROBLEM },
    'x-role': access.role,
    'x-scope': access.scope,
  }
}

const PROBLEM = { $ref: '#/components/responses/Problem' } as const

function successOf({ response, media, status }: Route): Json {
  if (status === 204) return { description: 'Done.' }
  const content = response
    ? { 'application/json': { schema: jsonSchema(response, 'output') } }
    : { [media ?? 'application/octet-stream']: { schema: { type: 'string' } } }
  return { description: 'Done.', content }
}

/** `GET /events/{id}/body` is `getEventsIdBody`. */
function operationId({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}

function parametersOf({ path, query, isKeyed }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const key = isKeyed
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'A repeated request with the same key gets the same reply, and has no further effect.',
          schema: { type: 'string', maxLength: 255 },
        },
      ]
    : []
  return [...inPath, ...(query ? queryParameters(query) : []), ...key]
}

function queryParameters(query: z.ZodObject): Json[] {
  return Object.entries(query.shape).map(([name, field]) => {
    const { description, default: preset, ...schema } = jsonSchema(field as z.ZodType, 'input')
    return {
      name,
      in: 'query',
      required: false,
      ...(description === undefined ? {} : { description }),
      schema: preset === undefined ? schema : { ...schema, default: preset },
    }
  })
}

/** JSON Schema 2020-12, which OpenAPI 3.1 uses. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const {
    $schema: _,
    '~standard': __,
    ...json
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
  return json
}
