import { remembering } from './remembering.ts'

/** A blob store for large bodies. `put` keeps a body until `expiresInMs` at least, and names it. */
export interface Spill {
  put(body: AsyncIterable<Uint8Array>, about: { name: string; expiresInMs: number }): Promise<string>
  /** Undefined where it is gone. */
  get(name: string): Promise<Uint8Array | AsyncIterable<Uint8Array> | undefined>
}

/** Blob stores mostly fail at once, or within the first part of an upload. */
const REMEMBERED_BYTES = 1024 * 1024

interface Spilled {
  /** Undefined where it could not be spilled: `error` says why. */
  readonly spilled: string | undefined
  readonly error?: unknown
  /** To be sent. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/** Spills a body, and says what to send: one that cannot be spilled is sent all the same, as far as it can be. */
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
