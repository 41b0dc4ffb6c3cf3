/** A stream that is handed on and remembered, so that it can be read once more where its reader failed. */
export interface Remembering {
  readonly body: AsyncIterable<Uint8Array>
  /**
   * All of it, from the beginning. Where more was read than is remembered, it is read to its end, because it is still
   * being written, and then breaks with `error`: only a broken connection tells a client that its reply is lost. Throws
   * where the stream itself broke off.
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
  /** Who failed may go on to read; from then on it gets nothing. */
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
    // Without `return`: who stops reading must not end what is to be read again.
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
      // What is on its way belongs to what is remembered.
      await reading?.catch(() => undefined)
      if (broken) throw broken.error
      return readAgain(error)
    },
  }
}
