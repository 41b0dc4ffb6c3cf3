import { alreadyRead, type BodyFault, type BodyLimits, BoundedBody, isFault } from './bounded-body.ts'
import type { Share } from './held-bytes.ts'

/* Bodies that are pulled chunk by chunk: of fetch requests, and of streams from a framework. */

type ReadChunk = () => Promise<
  { readonly done: false; readonly value: Uint8Array } | { readonly done: true; readonly value?: unknown }
>

const READ_BEFORE =
  'the body was read before it reached hookonce: mount hookonce above that middleware, or read a copy there, such as request.clone().json() (Hono: c.req.raw.clone().json())'

/** The body of a request of the fetch standard. */
export async function readFetchBody(
  request: Request,
  limits: BodyLimits,
  share: Share,
): Promise<Uint8Array | BodyFault> {
  if (request.bodyUsed) return alreadyRead(READ_BEFORE)
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const body = await readChunks(() => reader.read(), limits, share)
  // The sender may have disconnected; an error of the cancelled stream changes nothing.
  if (isFault(body)) void reader.cancel().catch(() => undefined)
  return body
}

/** For a body whose bytes are lost: a read of this stream ends with the fault. */
export function lostBody(fault: BodyFault): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new LostBody(fault)) })
}

class LostBody extends Error {
  readonly fault: BodyFault

  constructor(fault: BodyFault) {
    super(fault.detail)
    this.fault = fault
  }
}

/** Reads until the end or a fault. The caller cancels the unread rest. */
export function readChunks(
  read: ReadChunk,
  limits: BodyLimits,
  share: Share,
): Promise<Uint8Array | BodyFault> {
  const { deadlines } = limits
  return new Promise((resolve) => {
    const body = new BoundedBody(limits, share)
    let isOver = false

    function end(result: Uint8Array | BodyFault): void {
      if (isOver) return
      isOver = true
      deadlines.unwatch(onStalled)
      resolve(result)
    }
    function onStalled(): void {
      end(body.stalled())
    }
    async function readAll(): Promise<void> {
      for (;;) {
        const { done, value } = await read()
        // A chunk that arrives after the deadline must not be counted: the share is already
        // released.
        if (isOver || done) return end(body.bytes())
        const fault = body.add(value)
        if (fault) return end(fault)
      }
    }
    deadlines.watch(onStalled)
    readAll().catch((error) =>
      end(error instanceof LostBody ? error.fault : body.incomplete(`the body broke off (${String(error)})`)),
    )
  })
}
