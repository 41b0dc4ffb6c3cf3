import { isEvents, type Reply } from './message.ts'

/**
 * The body of a reply for a reader that may disconnect. It is read to its end anyway, because the
 * handler is still writing it. Event streams are the exception: they may never end, and their
 * handler must be notified when the client disconnects.
 */
export function readToEnd(reply: Reply): Uint8Array | AsyncIterable<Uint8Array> {
  const { body } = reply
  return body instanceof Uint8Array || isEvents(reply) ? body : readingOn(body)
}

async function* readingOn(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  let hasEnded = false
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      hasEnded = done === true
      if (done) return
      yield value
    }
  } catch (error) {
    hasEnded = true
    throw error
  } finally {
    if (!hasEnded) void drain({ [Symbol.asyncIterator]: () => iterator })
  }
}

export async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // The body broke off, but no reader is left. The record was settled earlier.
  }
}
