import type { IncomingMessage, ServerResponse } from 'node:http'
import { HookonceError } from '../../model/errors.ts'
import { warnUnobserved } from '../events.ts'
import type { RunContext } from '../run.ts'
import { capture } from './capture.ts'
import { setKeyContext } from './context.ts'
import { answerKeyed, isKeyedMethod, unprotected, withValidKeyHeader } from './keyed.ts'
import { type KeyedHead, type Reply, withHeaders } from './message.ts'
import { type CheckedKeysOptions, checkKeysOptions, type KeysOptions } from './options.ts'
import { internalError, untyped } from './problem.ts'
import { readBody } from './read-body.ts'

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, context: RunContext) => unknown

/**
 * Idempotency keys for handlers of node:http.
 *
 * ```ts
 * createServer(nodeKeys({ store, tenant: 'global' })((request, response) => …))
 * ```
 */
export function nodeKeys(
  options: KeysOptions<IncomingMessage>,
): (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const checked = checkKeysOptions(options, 'nodeKeys()')
  return (handler) => async (request, response) => {
    if (!isKeyed(checked, request)) return void handler(request, response, unprotected())
    await answerNode(checked, {
      request,
      response,
      handle: (context) => handler(request, response, context),
    })
  }
}

/** One request of node:http, or of a framework based on it. */
export interface NodeExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The framework's own request object. */
  readonly origin?: object
  /** The full URL, if the framework has shortened `request.url`. */
  readonly target?: string
  /** The object that holds the body, if the framework has already read it. */
  readonly parsed?: object
  /** Continues with the framework. Everything written to the response from then on is captured. */
  handle(context: RunContext): unknown
  /** Sends a reply that no handler made. For frameworks that add to such a reply. */
  instead?(reply: Reply): void
  /** Reports an error from before the handler ran. */
  fail?(error: unknown): void
}

/**
 * Whether the request involves keys. Other requests are not captured, because nothing of them is
 * stored.
 */
export function isKeyed(
  { required }: CheckedKeysOptions,
  { method = '', headers }: IncomingMessage,
): boolean {
  return isKeyedMethod(method) && (required === 'on' || headers['idempotency-key'] !== undefined)
}

export async function answerNode(options: CheckedKeysOptions, exchange: NodeExchange): Promise<void> {
  const { request, response, origin = request, target = request.url ?? '/', handle } = exchange
  const captured = capture(response)
  let hasBegun = false
  function handleCaptured(context: RunContext): Promise<Reply> {
    hasBegun = true
    setKeyContext(origin, context)
    Promise.resolve()
      .then(() => handle(context))
      .catch((error) => captured.fail(error))
    return captured.reply
  }
  async function answered(): Promise<Reply> {
    let isUnread = false
    const reply = await answerKeyed(options, {
      request: keyedHead(request, target),
      origin,
      readBody: (limits) =>
        readBody(request, limits, exchange.parsed).catch((error) => {
          isUnread = true
          throw error
        }),
      handle: handleCaptured,
    })
    // The rest of the request is not read, so the connection cannot be reused.
    return isUnread ? withHeaders(reply, { connection: 'close' }) : reply
  }
  try {
    const reply = await answered()
    if (hasBegun || !exchange.instead) return await captured.send(reply)
    captured.release()
    exchange.instead(reply)
  } catch (error) {
    if (hasBegun || !exchange.fail) {
      // A client that hung up is not a failure of the app.
      if (!response.destroyed) warnUnobserved(options.observe, error)
      return await captured.send(withValidKeyHeader(keyHeadersOf(request), failure(error)))
    }
    captured.release()
    exchange.fail(error)
  }
}

function keyedHead(request: IncomingMessage, target: string): KeyedHead {
  return {
    method: request.method ?? '',
    target,
    header(name) {
      const values = headerValues(request, name)
      return values.length > 0 ? values.join(', ') : undefined
    },
    keyHeaders: keyHeadersOf(request),
  }
}

export function keyHeadersOf(request: IncomingMessage): string[] {
  return headerValues(request, 'idempotency-key')
}

/** Reads the raw headers, which also exist on the fake requests that frameworks create in tests. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const header = rawHeaders[at]
    if (header?.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  }
  return values
}

/** The reply when the handler threw. The error has already been observed. */
function failure(error: unknown): Reply {
  return error instanceof HookonceError && error.code === 'BODY_INCOMPLETE'
    ? untyped(400, 'The body is incomplete')
    : internalError()
}
