import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ErrorCode } from '../model/errors.ts'
import { headerIn } from '../sources/headers.ts'
import type { Answer } from './answer.ts'
import type { Head, Receiver } from './receive.ts'

/** How long a sender that we refuse mid-body may take to read our answer before the connection is cut. */
const CLOSE_GRACE_MS = 1_000

/** Answers one request of node:http. The body must not have been read before: signatures are over its bytes. */
export async function receiveNode(
  receiver: Receiver,
  sourceName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const head = headOf(sourceName, request)
  const refusal = receiver.admit(head)
  if (refusal) return respond(request, response, refusal)
  const body = await readBody(request, receiver)
  try {
    if (!body.ok) return respond(request, response, receiver.refuse(head, body.code, body.detail))
    respond(request, response, await receiver.receive(head, body.bytes))
  } finally {
    receiver.held.bytes -= body.held
  }
}

function headOf(sourceName: string, request: IncomingMessage): Head {
  return {
    sourceName,
    method: request.method ?? '',
    url: request.url ?? '',
    headerPairs: request.rawHeaders,
    header: headerIn(request.headers),
  }
}

type Body =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly held: number }
  | { readonly ok: false; readonly code: ErrorCode; readonly detail: string; readonly held: number }

/** Reads no further than the limit, and no longer than the time. What it holds is counted as it comes. */
function readBody(request: IncomingMessage, { limits, held, deadlines }: Receiver): Promise<Body> {
  // Neither data nor an end would come any more: they went to whoever read before us.
  if (request.readableEnded) return Promise.resolve(READ_BEFORE)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    let isOver = false

    // The listeners stay, as taking them away costs more than the body: what comes after the end concerns nobody.
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

const READ_BEFORE: Body = {
  ok: false,
  code: 'BODY_INCOMPLETE',
  detail: 'the body was read before it reached hookonce',
  held: 0,
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
