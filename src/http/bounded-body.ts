import type { ErrorCode } from '../model/errors.ts'
import type { Deadlines } from './deadlines.ts'
import type { Share } from './held-bytes.ts'

/*
 * Anyone can send a body, so every body is read within three limits: bytes per body, bytes held by
 * all requests together, and a deadline. This file holds the limits and their faults. node-body.ts
 * and pulled-body.ts hold the loops that read.
 */

export interface BodyLimits {
  readonly maxBodyBytes: number
  /** The time from the headers to the end of the body. */
  readonly bodyTimeoutMs: number
  /** Deadlines of `bodyTimeoutMs`. */
  readonly deadlines: Deadlines
}

/** Why a body could not be read. `detail` is for the log, unless the caller decides otherwise. */
export interface BodyFault {
  readonly ok: false
  readonly code: Extract<
    ErrorCode,
    'BODY_TOO_LARGE' | 'BODY_INCOMPLETE' | 'BODY_ALREADY_READ' | 'BODY_STALLED' | 'OVERLOADED'
  >
  readonly detail: string
}

export function isFault(body: Uint8Array | BodyFault): body is BodyFault {
  return 'code' in body
}

/** One body while it is being read. */
export class BoundedBody {
  readonly #limits: BodyLimits
  readonly #share: Share
  readonly #chunks: Uint8Array[] = []
  size = 0

  constructor(limits: BodyLimits, share: Share) {
    this.#limits = limits
    this.#share = share
  }

  /** Returns a fault if the chunk exceeds a limit. The rest of the body must then not be read. */
  add(chunk: Uint8Array): BodyFault | undefined {
    this.size += chunk.length
    const hasRoom = this.#share.hold(chunk.length)
    if (this.size > this.#limits.maxBodyBytes) return tooLarge(this.#limits)
    if (!hasRoom) return overloaded()
    this.#chunks.push(chunk)
    return undefined
  }

  bytes(): Buffer {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(this.#chunks, this.size)
  }

  /** The connection closed, or the stream failed, before the end of the body. */
  incomplete(reason = 'the connection closed'): BodyFault {
    return { ok: false, code: 'BODY_INCOMPLETE', detail: `${reason} after ${this.size} bytes` }
  }

  stalled(): BodyFault {
    const { bodyTimeoutMs } = this.#limits
    return {
      ok: false,
      code: 'BODY_STALLED',
      detail: `the body was not complete after ${bodyTimeoutMs} ms`,
    }
  }
}

/** Applies the same limits to a body that is already in memory. */
export function boundedBytes(bytes: Buffer, limits: BodyLimits, share: Share): Buffer | BodyFault {
  if (bytes.length > limits.maxBodyBytes) return tooLarge(limits)
  return share.hold(bytes.length) ? bytes : overloaded()
}

export function tooLarge({ maxBodyBytes }: Pick<BodyLimits, 'maxBodyBytes'>): BodyFault {
  return { ok: false, code: 'BODY_TOO_LARGE', detail: `the body has more than ${maxBodyBytes} bytes` }
}

export function overloaded(detail = 'there is no room for more bytes of bodies'): BodyFault {
  return { ok: false, code: 'OVERLOADED', detail }
}

export function alreadyRead(howToKeepBytes: string): BodyFault {
  return { ok: false, code: 'BODY_ALREADY_READ', detail: howToKeepBytes }
}
