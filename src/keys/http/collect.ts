import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { headerOf, isEvents, type Reply } from './message.ts'

/**
 * A body that ended within the limit, or a longer one: `body` then repeats the bytes already read.
 */
export type Collected =
  | { readonly whole: true; readonly bytes: Uint8Array }
  | { readonly whole: false; readonly body: Uint8Array | AsyncIterable<Uint8Array> }

export async function collect(reply: Reply, limit: number): Promise<Collected> {
  const { body } = reply
  if (body instanceof Uint8Array)
    return body.length > limit ? { whole: false, body } : { whole: true, bytes: body }
  // Server-sent events are sent as they come: waiting for the end would delay them.
  if (isEvents(reply)) return { whole: false, body }
  const iterator = body[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return { whole: true, bytes: Buffer.concat(chunks, size) }
    chunks.push(value)
    size += value.length
    if (size > limit) return { whole: false, body: resumed(chunks, iterator) }
  }
}

async function* resumed(
  chunks: readonly Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* chunks
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

const decoders: Record<
  string,
  (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>
> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/**
 * The decoded bytes, because the content-encoding is not stored. Undefined if they cannot be
 * decoded within the limit.
 */
export async function identityBytes(
  reply: Pick<Reply, 'headers'>,
  bytes: Uint8Array,
  limit: number,
): Promise<Uint8Array | undefined> {
  const encoding = headerOf(reply, 'content-encoding')?.trim().toLowerCase()
  if (encoding === undefined || encoding === 'identity' || bytes.length === 0) return bytes
  return decoders[encoding]?.(bytes, { maxOutputLength: limit }).catch(() => undefined)
}
