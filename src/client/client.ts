import { errorOf } from './api-error.ts'
import type { DeletePath, GetPath, ItemOf, ListPath, PostPath, RequestArgs, ResponseOf } from './paths.ts'

/*
 * A client of the admin API for browsers and Node, without dependencies. Paths are those of the
 * OpenAPI document; the compiler checks requests and responses.
 */

export interface ClientOptions {
  /** The URL of the API, with its mount path: `http://127.0.0.1:4401/api/v1`. */
  readonly baseUrl: string
  /** Without a token, the browser sends the cookie of its session. */
  readonly token?: string
  /** The `csrf` of the session. Required for requests that change something. */
  readonly csrf?: () => string | undefined
  readonly fetch?: typeof fetch
}

export interface AdminClient {
  /** Responses that are not JSON, such as a body, are returned as a Response. */
  get<Path extends GetPath>(path: Path, ...args: RequestArgs<'GET', Path>): Promise<ResponseOf<'GET', Path>>
  post<Path extends PostPath>(
    path: Path,
    ...args: RequestArgs<'POST', Path>
  ): Promise<ResponseOf<'POST', Path>>
  delete<Path extends DeletePath>(
    path: Path,
    ...args: RequestArgs<'DELETE', Path>
  ): Promise<ResponseOf<'DELETE', Path>>
  /** The items of a list, page by page, from the first to the last. */
  items<Path extends ListPath>(path: Path, ...args: RequestArgs<'GET', Path>): AsyncGenerator<ItemOf<Path>>
}

/** The common part of all requests, independent of their route. */
interface AnyRequest {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

export function adminClient(options: ClientOptions): AdminClient {
  const { baseUrl, token, csrf, fetch: send = fetch } = options

  async function call(method: string, path: string, request: AnyRequest = {}): Promise<unknown> {
    const { params = {}, query = {}, body, idempotencyKey, signal } = request
    const headers: Record<string, string> = { accept: 'application/json' }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    const csrfToken = method === 'GET' ? undefined : csrf?.()
    if (csrfToken !== undefined) headers['x-hookonce-csrf'] = csrfToken
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    const response = await send(`${baseUrl.replace(/\/$/, '')}${filled(path, params)}${search(query)}`, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok) throw await errorOf(response)
    if (response.status === 204) return undefined
    return /^application\/json/.test(response.headers.get('content-type') ?? '') ? response.json() : response
  }

  async function* items(path: string, request: AnyRequest = {}): AsyncGenerator<unknown> {
    let { query } = request
    for (;;) {
      const page = (await call('GET', path, { ...request, query })) as {
        readonly data: readonly unknown[]
        readonly next: string | null
      }
      yield* page.data
      if (page.next === null) return
      query = { ...query, cursor: page.next }
    }
  }

  // The types of the interface follow from the routes; the implementation treats all requests
  // alike.
  const client = {
    get: (path: string, request?: AnyRequest) => call('GET', path, request),
    post: (path: string, request?: AnyRequest) => call('POST', path, request),
    delete: (path: string, request?: AnyRequest) => call('DELETE', path, request),
    items,
  }
  return client as AdminClient
}

function filled(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined || value === '')
      throw new TypeError(`the path ${path} needs the parameter "${name}"; pass it in \`params\``)
    return encodeURIComponent(value)
  })
}

function search(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}
