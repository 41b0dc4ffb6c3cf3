import type { ErrorCode } from '../model/errors.ts'
import type { Answer } from './answer.ts'
import type { Head, Receiver } from './receive.ts'

/** Answers one request in the shape of the fetch standard. */
export async function receiveFetch(
  receiver: Receiver,
  sourceName: string,
  request: Request,
): Promise<Response> {
  const head = headOf(sourceName, request)
  const refusal = receiver.admit(head)
  if (refusal) return responseOf(refusal)
  const body = await readBody(request, receiver)
  try {
    if (!body.ok) return responseOf(receiver.refuse(head, body.code, body.detail))
    return responseOf(await receiver.receive(head, body.bytes))
  } finally {
    receiver.held.bytes -= body.held
  }
}

function headOf(sourceName: string, request: Request): Head {
  const url = new URL(request.url)
  return {
    sourceName,
    method: request.method,
    url: `${url.pathname}${url.search}`,
    headerPairs: [...request.headers].flat(),
    header: (name) => request.headers.get(name) ?? undefined,
  }
}

type Body =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly held: number }
  | { readonly ok: false; readonly code: ErrorCode; readonly detail: string; readonly held: number }

async function readBody(request: Request, { limits, held, deadlines }: Receiver): Promise<Body> {
  if (request.bodyUsed) {
    return {
      ok: false,
      code: 'BODY_ALREADY_READ',
      detail:
        'the body was read before it reached hookonce: pass request.clone() before request.json() or request.text()',
      held: 0,
    }
  }
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  if (!reader) return { ok: true, bytes: new Uint8Array(), held: 0 }

  async function fail(code: ErrorCode, detail: string): Promise<Body> {
    // The sender may be gone already; there is nobody left to tell.
    await reader?.cancel().catch(() => undefined)
    return { ok: false, code, detail, held: size }
  }
  let stalled = false
  function onStalled(): void {
    stalled = true
    void reader?.cancel().catch(() => undefined)
  }
  deadlines.watch(onStalled)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (stalled)
        return await fail('BODY_STALLED', `the body was not complete after ${limits.bodyTimeoutMs} ms`)
      if (done) return { ok: true, bytes: Buffer.concat(chunks, size), held: size }
      size += value.byteLength
      held.bytes += value.byteLength
      if (size > limits.maxBodyBytes)
        return await fail('BODY_TOO_LARGE', `more than ${limits.maxBodyBytes} bytes came`)
      if (held.bytes > limits.maxHeldBytes) return await fail('OVERLOADED', `${held.bytes} bytes are held`)
      chunks.push(value)
    }
  } catch (error) {
    return await fail('BODY_INCOMPLETE', `the body broke off after ${size} bytes: ${String(error)}`)
  } finally {
    deadlines.unwatch(onStalled)
  }
}

export function responseOf(answer: Answer): Response {
  return new Response(answer.body, { status: answer.status, headers: { ...answer.headers } })
}
