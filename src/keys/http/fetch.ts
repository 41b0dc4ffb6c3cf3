import type { RunContext } from '../run.ts'
import { answerKeyed, isKeyedMethod, unprotected } from './keyed.ts'
import type { Reply } from './message.ts'
import { type CheckedKeysOptions, checkKeysOptions, type KeysOptions } from './options.ts'
import { readKeyedFetchBody } from './read-body.ts'
import { readToEnd } from './read-to-end.ts'

export type FetchHandler = (request: Request, context: RunContext) => Response | Promise<Response>

/**
 * Idempotency keys for handlers with the fetch signature: Bun, Deno, workers, and others.
 *
 * ```ts
 * export const POST = fetchKeys({ store, tenant: userOf })(async (request) => …)
 * ```
 */
export function fetchKeys(
  options: KeysOptions<Request>,
): (handler: FetchHandler) => (request: Request) => Promise<Response> {
  const checked = checkKeysOptions(options, 'fetchKeys()')
  return (handler) => async (request) => {
    if (!isKeyedMethod(request.method)) return handler(request, unprotected())
    const reply = await answerFetch(checked, {
      request,
      origin: request,
      handle: async (context, again) => replyOf(await handler(again, context)),
    })
    return responseOf(reply)
  }
}

/** One request of the fetch standard, or of a framework based on it. */
export interface FetchExchange {
  readonly request: Request
  /** The framework's own request object. */
  readonly origin: object
  /** `again` is the request with an unread body. */
  handle(context: RunContext, again: Request): Promise<Reply>
}

export async function answerFetch(
  options: CheckedKeysOptions,
  { request, origin, handle }: FetchExchange,
): Promise<Reply> {
  const url = new URL(request.url)
  let body: Uint8Array<ArrayBuffer> | undefined
  return answerKeyed(options, {
    request: {
      method: request.method,
      target: `${url.pathname}${url.search}`,
      header: (name) => request.headers.get(name) ?? undefined,
      // The standard joins repeated headers with `, `, which is not allowed in a key.
      keyHeaders: [request.headers.get('idempotency-key') ?? []].flat(),
    },
    origin,
    async readBody(limits) {
      body = await readKeyedFetchBody(request, limits)
      return body
    },
    // Without a key the body has not been read.
    handle: (context) => handle(context, body ? readAgain(request, body) : request),
  })
}

/**
 * The new request does not carry the client's signal: a client that hangs up must not interrupt the
 * handler halfway.
 */
function readAgain(request: Request, body: Uint8Array<ArrayBuffer>): Request {
  return new Request(request.url, {
    method: request.method,
    headers: request.headers,
    ...(body.length > 0 ? { body } : {}),
  })
}

export function replyOf(response: Response): Reply {
  return { status: response.status, headers: [...response.headers], body: response.body ?? new Uint8Array() }
}

/** Responses with these statuses must not have a body, not even an empty one. */
const BODILESS = new Set([101, 204, 205, 304])

export function responseOf(reply: Reply): Response {
  const { status, headers } = reply
  const sent = new Headers()
  for (const [name, value] of headers) sent.append(name, value)
  if (BODILESS.has(status)) return new Response(null, { status, headers: sent })
  const body = readToEnd(reply)
  return new Response(body instanceof Uint8Array ? Buffer.from(body) : ReadableStream.from(body), {
    status,
    headers: sent,
  })
}
