import type { z } from 'zod'
import type { Ledgers } from '../../operate/tables.ts'
import type { Caller, RouteAccess } from './caller.ts'
import type { Feed } from './feed.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import type { LiveBody } from './reply.ts'

/*
 * A route is data: its path, the role that may call it, the schemas of its input and output, and
 * the function that answers. The dispatcher, the OpenAPI document and the types of the client all
 * read it.
 */

export type Method = 'GET' | 'POST' | 'DELETE'

/** The input of a route's handler. */
export interface ApiContext {
  /** The ledger, on the operators' connections. */
  readonly ledger: Ledgers
  readonly caller: Caller
  readonly gateway: GatewayFacts
  readonly feed: Feed
  /** The header `last-event-id`: the position from which a stream continues. */
  readonly lastEventId: string | undefined
  /** Whether the caller still has access. For long responses. */
  isAllowed(): Promise<boolean>
}

/** A response that is not JSON, or that needs headers of its own. */
export interface RawReply {
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | LiveBody
}

/** The names in braces of a path. */
export type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<Rest>
  : unknown

export interface RouteInput {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

/** The types of a route, for the client. They exist only at compile time. */
export interface RouteTypes<Query, Body, Response> {
  readonly query: Query
  readonly body: Body
  readonly response: Response
}

export interface Route<
  M extends Method = Method,
  Path extends string = string,
  Types extends RouteTypes<unknown, unknown, unknown> = RouteTypes<unknown, unknown, unknown>,
> {
  readonly method: M
  /** The path, with `{name}` for the variable parts. */
  readonly path: Path
  readonly access: RouteAccess
  /** The subject: the tag in the OpenAPI document. */
  readonly tag: string
  readonly summary: string
  readonly description?: string | undefined
  readonly query: z.ZodObject | undefined
  readonly body: z.ZodType | undefined
  readonly response: z.ZodType | undefined
  /** The media type of a response that is not JSON. */
  readonly media: string | undefined
  readonly status: number
  /** Whether the route changes something. If so, it accepts an Idempotency-Key. */
  readonly isKeyed: boolean
  answer(context: ApiContext, input: RouteInput): Promise<unknown>
  readonly types?: Types
}

interface JsonRoute<
  M,
  Path extends string,
  Query extends z.ZodRawShape,
  Body extends z.ZodType,
  Response extends z.ZodType,
> {
  readonly method: M
  readonly path: Path
  readonly access: RouteAccess
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly query?: z.ZodObject<Query>
  readonly body?: Body
  readonly response: Response
  readonly status?: number
  /** False for a POST that changes nothing, such as a plan. */
  readonly isKeyed?: boolean
  answer(
    context: ApiContext,
    input: {
      readonly params: ParamsOf<Path>
      readonly query: z.output<z.ZodObject<Query>>
      readonly body: z.output<Body>
    },
  ): Promise<z.input<Response>>
}

/** A route that answers JSON. */
export function route<
  const M extends Method,
  const Path extends string,
  Response extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
  Body extends z.ZodType = z.ZodUndefined,
>(
  definition: JsonRoute<M, Path, Query, Body, Response>,
): Route<M, Path, RouteTypes<z.input<z.ZodObject<Query>>, z.input<Body>, z.output<Response>>> {
  const { query, body, answer, description, ...rest } = definition
  return {
    status: 200,
    isKeyed: definition.method === 'POST',
    media: undefined,
    ...rest,
    description,
    query,
    body,
    // The dispatcher has checked the input with the schemas of this definition.
    answer: (context, input) => answer(context, input as Parameters<typeof answer>[1]),
  }
}

interface RawRoute<Path extends string, Query extends z.ZodRawShape> {
  readonly path: Path
  readonly access: RouteAccess
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly query?: z.ZodObject<Query>
  readonly media: string
  answer(
    context: ApiContext,
    input: { readonly params: ParamsOf<Path>; readonly query: z.output<z.ZodObject<Query>> },
  ): Promise<RawReply>
}

/** A route that answers with bytes or a stream. The client returns the Response unchanged. */
export function rawRoute<const Path extends string, Query extends z.ZodRawShape = Record<never, never>>(
  definition: RawRoute<Path, Query>,
): Route<'GET', Path, RouteTypes<z.input<z.ZodObject<Query>>, undefined, Response>> {
  const { query, answer, description, ...rest } = definition
  return {
    method: 'GET',
    status: 200,
    isKeyed: false,
    ...rest,
    description,
    query,
    body: undefined,
    response: undefined,
    answer: (context, input) => answer(context, input as Parameters<typeof answer>[1]),
  }
}
