/** How many bytes a writer may be ahead of the reader. */
const HIGH_WATER_BYTES = 64 * 1024

export type Done = (error?: Error | null) => void

/** Chunks that were written and not yet read. */
export class ChunkQueue implements AsyncIterable<Uint8Array> {
  readonly #chunks: { bytes: Uint8Array; done: Done | undefined }[] = []
  readonly #onDrain: () => void
  #size = 0
  #ended = false
  #broken: { readonly error: unknown } | undefined
  #full = false
  #wake: (() => void) | undefined

  constructor(onDrain: () => void) {
    this.#onDrain = onDrain
  }

  push(bytes: Uint8Array, done?: Done): boolean {
    this.#chunks.push({ bytes, done })
    this.#size += bytes.length
    this.#full = this.#size >= HIGH_WATER_BYTES
    this.#wake?.()
    return !this.#full
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  /** Marks the stream as broken. The reader receives the error after the remaining chunks. */
  break(error: unknown): void {
    if (this.#ended) return
    this.#broken ??= { error }
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#chunks.shift()
      if (next) {
        this.#size -= next.bytes.length
        yield next.bytes
        next.done?.()
        if (this.#full && this.#size < HIGH_WATER_BYTES) {
          this.#full = false
          this.#onDrain()
        }
      } else if (this.#ended) return
      else if (this.#broken) throw this.#broken.error
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
