/* The frames of PostgreSQL's protocol 3: a letter, a length that includes itself, and a payload. */

export interface Frame {
  /** The type, one letter. Empty for the first message of a connection. */
  readonly type: string
  /** The whole frame, as sent. */
  readonly bytes: Buffer
  readonly payload: Buffer
}

/** Cuts a stream of bytes into frames. */
export function frameReader(isFirstUntyped: boolean): (chunk: Buffer) => Frame[] {
  let rest: Buffer = Buffer.alloc(0)
  let isUntyped = isFirstUntyped
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const frames: Frame[] = []
    for (;;) {
      const head = isUntyped ? 0 : 1
      if (rest.length < head + 4) return frames
      const end = head + rest.readUInt32BE(head)
      if (rest.length < end) return frames
      const type = isUntyped ? '' : String.fromCharCode(rest[0] ?? 0)
      const frame = { type, bytes: rest.subarray(0, end), payload: rest.subarray(head + 4, end) }
      frames.push(frame)
      rest = rest.subarray(end)
      // Requests for encryption also have no type, and the startup message follows them.
      if (isUntyped && !isEncryptionRequest(frame)) isUntyped = false
    }
  }
}

const SSL_REQUEST = 80_877_103
const GSS_REQUEST = 80_877_104

export function isEncryptionRequest({ type, payload }: Frame): boolean {
  const code = type === '' && payload.length >= 4 ? payload.readUInt32BE(0) : 0
  return code === SSL_REQUEST || code === GSS_REQUEST
}

/** The zero-terminated texts at the beginning of a payload. */
export function textsOf(payload: Buffer, count: number): string[] {
  const texts: string[] = []
  let at = 0
  for (let index = 0; index < count; index++) {
    const end = payload.indexOf(0, at)
    if (end < 0) break
    texts.push(payload.toString('utf8', at, end))
    at = end + 1
  }
  return texts
}
