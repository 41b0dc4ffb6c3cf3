import type { Method, ParamsOf } from '../gateway/api/route.ts'
import type { routes } from '../gateway/api/routes.ts'

/*
 * The types of the client follow from the routes of the server. The compiler removes these imports,
 * so no code of the server is loaded.
 */

type AnyRoute = (typeof routes)[number]
type PathOf<M extends Method> = Extract<AnyRoute, { readonly method: M }>['path']
type RouteAt<M extends Method, Path extends string> = Extract<
  AnyRoute,
  { readonly method: M; readonly path: Path }
>
type TypesOf<M extends Method, Path extends string> = NonNullable<RouteAt<M, Path>['types']>

export type GetPath = PathOf<'GET'>
export type PostPath = PathOf<'POST'>
export type DeletePath = PathOf<'DELETE'>

/** The response of a route. */
export type ResponseOf<M extends Method, Path extends string> = TypesOf<M, Path>['response']

/** The paths whose response is a page of a list. */
export type ListPath = {
  [Path in GetPath]: ResponseOf<'GET', Path> extends { readonly data: readonly unknown[] } ? Path : never
}[GetPath]

export type ItemOf<Path extends GetPath> =
  ResponseOf<'GET', Path> extends { readonly data: readonly (infer Item)[] } ? Item : never

type Params<Path extends string> =
  unknown extends ParamsOf<Path> ? { readonly params?: undefined } : { readonly params: ParamsOf<Path> }
type Query<Types> = Types extends { readonly query: infer Q } ? { readonly query?: Q } : unknown
type Body<Types> = Types extends { readonly body: infer B }
  ? undefined extends B
    ? { readonly body?: undefined }
    : { readonly body: B }
  : unknown

/** The parameters of a request: the parts of its path, its query and its body. */
export type RequestOf<M extends Method, Path extends string> = Params<Path> &
  Query<TypesOf<M, Path>> &
  Body<TypesOf<M, Path>> & {
    /** A repeated request with the same key gets the same response and has no further effect. */
    readonly idempotencyKey?: string
    readonly signal?: AbortSignal
  }

/** The request may be omitted if nothing in it is required. */
export type RequestArgs<M extends Method, Path extends string> =
  Record<never, never> extends RequestOf<M, Path>
    ? [request?: RequestOf<M, Path>]
    : [request: RequestOf<M, Path>]
