import type { IncomingMessage, ServerResponse } from 'node:http'
import { HookonceError } from '../../model/errors.ts'
import type { RunContext } from '../run.ts'
import { capture } from './capture.ts'
import { answerKeyed, isKeyedMethod, unprotected } from './keyed.ts'
import type { KeyedRequest, Reply } from './message.ts'
import { type CheckedKeysOptions, checkKeysOptions, type KeysOptions } from './options.ts'
import { problem } from './problem.ts'
import { readBody } from './read-body.ts'

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, context: RunContext) => unknown

/**
 * Idempotency keys for handlers of node:http.
 *
 *   createServer(nodeKeys({ store, tenant: 'global' })((request, response) => …))
 */
export function nodeKeys(
  options: KeysOptions<IncomingMessage>,
): (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const checked = checkKeysOptions(options, 'nodeKeys()')
  return (handler) => async (request, response) => {
    if (!isKeyedMethod(request.method ?? '')) return void handler(request, response, unprotected())
    await answerNode(checked, request, response, (context) => handler(request, response, context))
  }
}

/**
 * Answers one request of node:http, or of a framework over it: `handle` makes the framework go on, and whatever it then
 * does to the response is captured. `target` where the framework has cut the URL.
 */
async function answerNode(
  options: CheckedKeysOptions,
  request: IncomingMessage,
  response: ServerResponse,
  handle: (context: RunContext) => unknown,
  target = request.url ?? '/',
): Promise<void> {
  const captured = capture(response)
  let reply: Reply
  try {
    const body = await readBody(request, options.maxBodyBytes)
    reply = body
      ? await answerKeyed(options, {
          request: keyedRequest(request, target, body),
          origin: request,
          handle(context) {
            Promise.resolve()
              .then(() => handle(context))
              .catch((error) => captured.fail(error))
            return captured.reply
          },
        })
      : problem('BODY_TOO_LARGE', { base: options.problemBase, headers: { connection: 'close' } })
  } catch (error) {
    reply = failure(error)
  }
  await captured.send(reply)
}

function keyedRequest(request: IncomingMessage, target: string, body: Uint8Array): KeyedRequest {
  return {
    method: request.method ?? '',
    target,
    header: (name) => request.headersDistinct[name]?.join(', '),
    keyHeaders: request.headersDistinct['idempotency-key'] ?? [],
    body,
  }
}

/** The handler threw; `observe` has heard of it. What it threw may hold secrets, so it is not sent. */
function failure(error: unknown): Reply {
  const status = error instanceof HookonceError && error.code === 'BODY_INCOMPLETE' ? 400 : 500
  const title = status === 400 ? 'The body is incomplete' : 'Internal Server Error'
  return {
    status,
    headers: [['content-type', 'application/problem+json']],
    body: Buffer.from(JSON.stringify({ type: 'about:blank', title, status })),
  }
}
