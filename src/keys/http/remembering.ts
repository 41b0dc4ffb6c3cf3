/**
 * Passes a stream on and remembers its beginning, so that it can be read again if the reader fails.
 */
export interface Remembering {
  readonly body: AsyncIterable<Uint8Array>
  /**
   * The whole stream from its beginning. If more was read than is remembered, the rest is read to
   * its end, because the handler is still writing it, and the stream then fails with `error`. Only
   * a broken connection shows the client that its reply is lost. Throws if the source itself broke
   * off.
   */
  again(error: unknown): Promise<AsyncIterable<Uint8Array>>
}

export function remembering(source: AsyncIterable<Uint8Array>, maxBytes: number): Remembering {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  let isOver = false
  let broken: { readonly error: unknown } | undefined
  let reading: Promise<unknown> | undefined
  /** A failed reader may keep reading. Once this is true, it receives nothing more. */
  let isTaken = false

  async function read(): Promise<IteratorResult<Uint8Array>> {
    try {
      const next = await iterator.next()
      if (next.done) isOver = true
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
  async function* readAgain(error: unknown): AsyncGenerator<Uint8Array> {
    const isWhole = size <= maxBytes
    yield* chunks
    while (!isOver) {
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
          if (isTaken) return { done: true, value: undefined }
          const next = read()
          reading = next
          return next
        },
      }),
    },
    async again(error) {
      isTaken = true
      // A chunk that is being read belongs to the remembered part.
      await reading?.catch(() => undefined)
      if (broken) throw broken.error
      return readAgain(error)
    },
  }
}
