/** A request to a source that is not configured. Kept in memory only. */
export interface CapturedRequest {
  readonly id: string
  readonly at: Date
  readonly method: string
  /** The path, with the query. */
  readonly url: string
  /** The headers, in the order of arrival. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** Whether the body was truncated. */
  readonly isCut: boolean
  /** The time from the headers to the end of the body. */
  readonly durationMs: number
  /** Providers that may have sent it, best guess first. */
  readonly looksLike: readonly string[]
  /** The lines to add to the configuration, with instructions. */
  readonly advice: string
}

/*
 * A developer looks at the newest few. Bounded, because strangers may reach `dev` through a tunnel.
 */
const MAX_REQUESTS = 100
const MAX_BYTES = 16 * 1024 * 1024

/** The newest requests, limited in number and size. */
export class CaptureRing {
  readonly #requests: CapturedRequest[] = []
  #bytes = 0

  add(request: CapturedRequest): void {
    this.#requests.push(request)
    this.#bytes += sizeOf(request)
    while (this.#requests.length > MAX_REQUESTS || (this.#bytes > MAX_BYTES && this.#requests.length > 1)) {
      const oldest = this.#requests.shift()
      if (oldest) this.#bytes -= sizeOf(oldest)
    }
  }

  /** Newest first. */
  list(): CapturedRequest[] {
    return this.#requests.toReversed()
  }

  find(id: string): CapturedRequest | undefined {
    return this.#requests.find((request) => request.id === id)
  }

  clear(): void {
    this.#requests.length = 0
    this.#bytes = 0
  }
}

function sizeOf({ url, headers, body }: CapturedRequest): number {
  const text = headers.reduce((sum, [name, value]) => sum + name.length + value.length, url.length)
  return text + body.length
}
