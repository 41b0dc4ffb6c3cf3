import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  howToKeepBytes,
  keptBytes,
  keptText,
  type NodeRequest,
  type NodeResponse,
  rawRequest,
  rawResponse,
} from '../http/framework-request.ts'
import type { ErrorCode } from '../model/errors.ts'
import { headerIn } from '../sources/headers.ts'
import type { Answer } from './answer.ts'
import type { Head, Receiver } from './receive.ts'

/**
 * How long a sender that we refuse mid-body may take to read our answer before the connection is
 * cut.
 */
const CLOSE_GRACE_MS = 1_000

/**
 * Answers one request of node:http. Signatures are over bytes: a parser before us must have kept
 * them.
 */
export async function receiveNode(
  receiver: Receiver,
  sourceName: string,
  given: NodeRequest,
  response: NodeResponse,
): Promise<void> {
  const request = rawRequest(given)
  const answering = rawResponse(response)
  const head = headOf(sourceName, request)
  const refusal = receiver.admit(head)
  if (refusal) return respond(request, answering, refusal)
  const body = keptBody(given, receiver) ?? (await readBody(request, receiver))
  try {
    if (!body.ok) return respond(request, answering, receiver.refuse(head, body.code, body.detail))
    respond(request, answering, await receiver.receive(head, body.bytes))
  } finally {
    receiver.held.bytes -= body.held
  }
}

function headOf(sourceName: string, request: IncomingMessage): Head {
  return {
    sourceName,
    method: request.method ?? '',
    // A router may have cut it.
    url: (request as { originalUrl?: string }).originalUrl ?? request.url ?? '',
    headerPairs: request.rawHeaders,
    header: headerIn(request.headers),
  }
}

type Body =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly held: number }
  | { readonly ok: false; readonly code: ErrorCode; readonly detail: string; readonly held: number }

/**
 * What was read before us: its bytes, or why they are gone; undefined where nobody has read yet.
 */
function keptBody(given: NodeRequest, { limits, held }: Receiver): Body | undefined {
  const wasRead = rawRequest(given).readableEnded
  const bytes = keptBytes(given) ?? (wasRead ? keptText(given) : undefined)
  if (!bytes) {
    if (!wasRead) return undefined
    return { ok: false, code: 'BODY_ALREADY_READ', detail: howToKeepBytes(given), held: 0 }
  }
  if (bytes.length > limits.maxBodyBytes)
    return {
      ok: false,
      code: 'BODY_TOO_LARGE',
      detail: `the body has more than ${limits.maxBodyBytes} bytes`,
      held: 0,
    }
  held.bytes += bytes.length
  return { ok: true, bytes, held: bytes.length }
}

/**
 * Reads no further than the limit, and no longer than the time. What it holds is counted as it
 * comes.
 */
function readBody(request: IncomingMessage, { limits, held, deadlines }: Receiver): Promise<Body> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    let isOver = false

    // The listeners stay, as taking them away costs more than the body: what comes after the end
    // concerns nobody.
    function end(body: Body): void {
      isOver = true
      deadlines.unwatch(stalled)
      resolve(body)
    }
    function fail(code: ErrorCode, detail: string): void {
      if (isOver) return
      request.pause()
      end({ ok: false, code, detail, held: size })
    }
    function stalled(): void {
      fail('BODY_STALLED', `the body was not complete after ${limits.bodyTimeoutMs} ms`)
    }
    function onData(chunk: Buffer): void {
      if (isOver) return
      size += chunk.length
      held.bytes += chunk.length
      if (size > limits.maxBodyBytes)
        return fail('BODY_TOO_LARGE', `more than ${limits.maxBodyBytes} bytes came`)
      if (held.bytes > limits.maxHeldBytes) return fail('OVERLOADED', `${held.bytes} bytes are held`)
      chunks.push(chunk)
    }
    function onEnd(): void {
      if (isOver) return
      const [first] = chunks
      const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks, size)
      end({ ok: true, bytes, held: size })
    }
    function onClose(): void {
      fail('BODY_INCOMPLETE', `the connection closed after ${size} bytes`)
    }
    deadlines.watch(stalled)
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
    if (request.destroyed) onClose()
  })
}

export function respond(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.destroyed || response.headersSent) return
  const unread = !request.complete
  const close = answer.close === true || unread
  const headers: OutgoingHttpHeaders = { 'content-length': Buffer.byteLength(answer.body) }
  for (const name in answer.headers) headers[name] = answer.headers[name]
  if (close) headers.connection = 'close'
  response.writeHead(answer.status, headers)
  response.end(answer.body)
  // The sender may still be writing: let it read the answer, then cut.
  if (unread) setTimeout(() => request.socket.destroy(), CLOSE_GRACE_MS).unref()
}
