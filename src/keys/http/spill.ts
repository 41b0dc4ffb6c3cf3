import { rewindable } from './rewindable-stream.ts'

/**
 * A blob store for large bodies. `put` keeps a body for at least `expiresInMs` and returns its
 * name.
 */
export interface Spill {
  put(body: AsyncIterable<Uint8Array>, about: { name: string; expiresInMs: number }): Promise<string>
  /** Returns undefined if the body no longer exists. */
  get(name: string): Promise<Uint8Array | AsyncIterable<Uint8Array> | undefined>
}

/**
 * How much of a body is kept in memory, to send it to the client if the blob store fails. Blob
 * stores usually fail at once, or within the first part of an upload.
 */
const REMEMBERED_BYTES = 1024 * 1024

interface SpillResult {
  /**
   * The name of the blob. Undefined if the body could not be stored; then `error` holds the reason.
   */
  readonly spilled: string | undefined
  readonly error?: unknown
  /** The body to send to the client. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/**
 * Spills a body and returns the body to send. If spilling fails, the body is still sent as far as
 * possible.
 */
export async function spillBody(
  spill: Spill,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  about: { name: string; expiresInMs: number },
): Promise<SpillResult> {
  if (body instanceof Uint8Array) {
    try {
      return { spilled: await spill.put(oneChunk(body), about), body }
    } catch (error) {
      return { spilled: undefined, error, body }
    }
  }
  const source = rewindable(body, REMEMBERED_BYTES)
  try {
    const spilled = await spill.put(source.body, about)
    const stored = await spill.get(spilled)
    if (stored === undefined)
      throw new Error(`spill.get found no "${spilled}", which spill.put has just stored`)
    return { spilled, body: stored }
  } catch (error) {
    return { spilled: undefined, error, body: await source.rewind(error) }
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
