/** The number of bytes that are held now. */
export interface HeldCount {
  bytes: number
}

/** The bytes that all requests hold together: bodies being read, and requests being handled. */
export class HeldBytes {
  readonly #maxBytes: number
  readonly #count: HeldCount

  /** Pass `count` if several limits watch the same bytes. */
  constructor(maxBytes: number, count: HeldCount = { bytes: 0 }) {
    this.#maxBytes = maxBytes
    this.#count = count
  }

  hasRoomFor(bytes: number): boolean {
    return this.#count.bytes + bytes <= this.#maxBytes
  }

  /** The share of one request, released when the request is answered. */
  share(): Share {
    return new Share(this, this.#count)
  }
}

/** A class, because each delivery makes one (docs/decisions/0016). */
export class Share {
  readonly #held: HeldBytes
  readonly #count: HeldCount
  #bytes = 0

  constructor(held: HeldBytes, count: HeldCount) {
    this.#held = held
    this.#count = count
  }

  /** Counts the bytes. Returns false if they exceed the limit. */
  hold(bytes: number): boolean {
    this.#bytes += bytes
    this.#count.bytes += bytes
    return this.#held.hasRoomFor(0)
  }

  release(): void {
    this.#count.bytes -= this.#bytes
    this.#bytes = 0
  }
}
