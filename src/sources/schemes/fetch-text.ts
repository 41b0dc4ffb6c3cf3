/** The request, if it is not a plain GET. */
export interface FetchRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Fetches a small text from a checked address. Throws for any status other than 200. */
export type FetchText = (url: string, request?: FetchRequest) => Promise<string>

export type FetchBytes = (url: string, request?: FetchRequest) => Promise<Buffer>

/** The server returned a status other than 200. */
export class BadStatus extends Error {
  readonly status: number

  constructor(status: number) {
    super(`answered ${status}`)
    this.name = 'BadStatus'
    this.status = status
  }

  /** Whether a retry cannot help: the resource does not exist, and the server is not failing. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429
  }
}

// The provider waits for the answer meanwhile. The strictest providers allow three seconds.
const TIMEOUT_MS = 2_500
// More than any certificate chain or key set needs.
const MAX_BYTES = 64 * 1024

export const fetchBytes: FetchBytes = async (url, request) => {
  // A redirect could lead from the genuine host to any other host.
  const response = await fetch(url, {
    ...request,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new BadStatus(response.status)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = response.body?.getReader()
  for (;;) {
    const read = await reader?.read()
    if (read === undefined || read.done) return Buffer.concat(chunks)
    chunks.push(read.value)
    bytes += read.value.byteLength
    if (bytes > MAX_BYTES) {
      await reader?.cancel()
      throw new Error(`longer than ${MAX_BYTES} bytes`)
    }
  }
}

export const fetchText: FetchText = async (url, request) => (await fetchBytes(url, request)).toString('utf8')
