/**
 * Passes a stream on and remembers its beginning, so that it can be read again if the reader fails.
 */
export interface RewindableStream {
  readonly body: AsyncIterable<Uint8Array>
  /**
   * The whole stream from its beginning. If more was read than is remembered, the rest is read to
   * its end, because the handler is still writing it, and the stream then fails with `error`. Only
   * a broken connection shows the client that its reply is lost. Throws if the source itself broke
   * off.
   */
  rewind(error: unknown): Promise<AsyncIterable<Uint8Array>>
}

export function rewindable(source: AsyncIterable<Uint8Array>, maxBytes: number): RewindableStream {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  let hasEnded = false
  let broken: { readonly error: unknown } | undefined
  let pendingRead: Promise<unknown> | undefined
  /** A failed reader may keep reading. Once this is true, it receives nothing more. */
  let wasRewound = false

  async function read(): Promise<IteratorResult<Uint8Array>> {
    try {
      const next = await iterator.next()
      if (next.done) hasEnded = true
      else remember(next.value)
      return next
    } catch (error) {
      broken = { error }
      throw error
    }
  }
  function remember(chunk: Uint8Array): void {
    size += chunk.length
    if (size > maxBytes) chunks.length = 0
    else chunks.push(chunk)
  }
  async function* readFromStart(error: unknown): AsyncGenerator<Uint8Array> {
    const isWhole = size <= maxBytes
    yield* chunks
    while (!hasEnded) {
      const { done, value } = await iterator.next()
      if (done) break
      if (isWhole) yield value
    }
    if (!isWhole) throw error
  }

  return {
    // Without `return`: a reader that stops early must not end the stream, which will be read
    // again.
    body: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          if (wasRewound) return { done: true, value: undefined }
          const next = read()
          pendingRead = next
          return next
        },
      }),
    },
    async rewind(error) {
      wasRewound = true
      // A chunk that is being read belongs to the remembered part.
      await pendingRead?.catch(() => undefined)
      if (broken) throw broken.error
      return readFromStart(error)
    },
  }
}
