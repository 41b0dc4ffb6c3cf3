import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { isFault } from '../http/bounded-body.ts'
import { type NodeRequest, type NodeResponse, rawRequest, rawResponse } from '../http/framework-request.ts'
import { readSignedBody } from '../http/node-body.ts'
import type { Answer } from './answer.ts'
import type { Receiver } from './receiver.ts'
import { nodeHead } from './request.ts'

/** A sender that is refused in the middle of its body has this time to read the answer. */
const CLOSE_GRACE_MS = 1_000

/**
 * Answers requests of node:http: admit → read the body → receive → send. Signatures cover the
 * bytes, so a parser that runs earlier must keep them.
 */
export function nodeDoor<Reply>(
  send: (request: IncomingMessage, response: ServerResponse, reply: Reply) => void | Promise<void>,
) {
  return async (
    receiver: Receiver<Reply>,
    sourceName: string,
    given: NodeRequest,
    givenResponse: NodeResponse,
  ): Promise<void> => {
    const request = rawRequest(given)
    const response = rawResponse(givenResponse)
    const head = nodeHead(sourceName, request)
    const refusal = receiver.admit(head)
    if (refusal) return send(request, response, refusal)
    const share = receiver.held.share()
    try {
      const read = readSignedBody(given, receiver.limitsOf(head), share)
      const body = 'then' in read ? await read : read
      if (isFault(body)) return send(request, response, receiver.refuse(head, body.code, body.detail))
      return send(request, response, await receiver.receive(head, body))
    } finally {
      share.release()
    }
  }
}

export function respond(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.destroyed || response.headersSent) return
  const headers: OutgoingHttpHeaders = { 'content-length': Buffer.byteLength(answer.body) }
  for (const name in answer.headers) headers[name] = answer.headers[name]
  if (answer.close === true || isUnread(request)) headers.connection = 'close'
  response.writeHead(answer.status, headers)
  response.end(answer.body)
  if (isUnread(request)) disconnectLater(request)
}

/** Requests of `app.inject()` in tests have neither `complete` nor a connection. */
export function isUnread({ complete }: IncomingMessage): boolean {
  return complete === false
}

/** The sender may still be writing the body, and reads the answer only afterwards. */
export function disconnectLater(request: IncomingMessage): void {
  setTimeout(() => request.socket.destroy(), CLOSE_GRACE_MS).unref()
}
