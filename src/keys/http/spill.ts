import { remembering } from './remembering.ts'

/**
 * A blob store for large bodies. `put` keeps a body for at least `expiresInMs` and returns its
 * name.
 */
export interface Spill {
  put(body: AsyncIterable<Uint8Array>, about: { name: string; expiresInMs: number }): Promise<string>
  /** Returns undefined if the body no longer exists. */
  get(name: string): Promise<Uint8Array | AsyncIterable<Uint8Array> | undefined>
}

/** Blob stores usually fail at once, or within the first part of an upload. */
const REMEMBERED_BYTES = 1024 * 1024

interface Spilled {
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
export async function spillOver(
  spill: Spill,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  about: { name: string; expiresInMs: number },
): Promise<Spilled> {
  if (body instanceof Uint8Array) {
    try {
      return { spilled: await spill.put(oneChunk(body), about), body }
    } catch (error) {
      return { spilled: undefined, error, body }
    }
  }
  const source = remembering(body, REMEMBERED_BYTES)
  try {
    const spilled = await spill.put(source.body, about)
    const again = await spill.get(spilled)
    if (again === undefined)
      throw new Error(`spill.get does not find ${spilled}, which spill.put has just made`)
    return { spilled, body: again }
  } catch (error) {
    return { spilled: undefined, error, body: await source.again(error) }
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
