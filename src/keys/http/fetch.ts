import type { RunContext } from '../run.ts'
import { answerKeyed, isKeyedMethod, unprotected } from './keyed.ts'
import type { Reply } from './message.ts'
import { checkKeysOptions, type KeysOptions } from './options.ts'
import { problem } from './problem.ts'

export type FetchHandler = (request: Request, context: RunContext) => Response | Promise<Response>

/**
 * Idempotency keys for handlers in the shape of the fetch standard: Next.js routes, Bun, Deno, workers.
 *
 *   export const POST = fetchKeys({ store, tenant: (request) => userOf(request) })(async (request) => …)
 */
export function fetchKeys(
  options: KeysOptions<Request>,
): (handler: FetchHandler) => (request: Request) => Promise<Response> {
  const checked = checkKeysOptions(options, 'fetchKeys()')
  return (handler) => async (request) => {
    if (!isKeyedMethod(request.method)) return handler(request, unprotected())
    const body = await readBody(request, checked.maxBodyBytes)
    if (!body) return responseOf(problem('BODY_TOO_LARGE', { base: checked.problemBase }))
    const url = new URL(request.url)
    const reply = await answerKeyed(checked, {
      request: {
        method: request.method,
        target: `${url.pathname}${url.search}`,
        header: (name) => request.headers.get(name) ?? undefined,
        // The standard joins repeated headers by `, `, which no key may hold.
        keyHeaders: [request.headers.get('idempotency-key') ?? []].flat(),
        body,
      },
      origin: request,
      handle: async (context) => replyOf(await handler(readAgain(request, body), context)),
    })
    return responseOf(reply)
  }
}

/** Its signal is not the client's: one who hangs up must not leave half of the work behind. */
function readAgain(request: Request, body: Uint8Array<ArrayBuffer>): Request {
  return new Request(request.url, {
    method: request.method,
    headers: request.headers,
    ...(body.length > 0 ? { body } : {}),
  })
}

async function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Uint8Array.from(Buffer.concat(chunks, size))
}

function replyOf(response: Response): Reply {
  return { status: response.status, headers: [...response.headers], body: response.body ?? new Uint8Array() }
}

/** A reply of these must not have a body, not even an empty one. */
const BODILESS = new Set([101, 204, 205, 304])

function responseOf({ status, headers, body }: Reply): Response {
  const sent = new Headers()
  for (const [name, value] of headers) sent.append(name, value)
  if (BODILESS.has(status)) return new Response(null, { status, headers: sent })
  return new Response(body instanceof Uint8Array ? Buffer.from(body) : ReadableStream.from(body), {
    status,
    headers: sent,
  })
}
