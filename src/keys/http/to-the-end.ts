import { headerOf, type Reply } from './message.ts'

/**
 * The body of a reply for a reader who may leave: it is read to its end all the same, because the handler is still
 * writing it. Events are the exception: they may have no end, and their handler must hear that nobody listens.
 */
export function toTheEnd(reply: Reply): Uint8Array | AsyncIterable<Uint8Array> {
  const { body } = reply
  if (body instanceof Uint8Array || headerOf(reply, 'content-type')?.startsWith('text/event-stream'))
    return body
  return outliving(body)
}

async function* outliving(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  let over = false
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      over = done === true
      if (done) return
      yield value
    }
  } catch (error) {
    over = true
    throw error
  } finally {
    if (!over) void drain(iterator)
  }
}

async function drain(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    while (!(await iterator.next()).done);
  } catch {
    // It broke off, and there is nobody left to tell: what is kept of it was settled before.
  }
}
