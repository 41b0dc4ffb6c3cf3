import type { Acceptor } from './accept.ts'
import type { Answer } from './answer.ts'
import type { KnownSource } from './arrival.ts'
import type { Limits } from './limits.ts'
import type { Head, HeldBytes, Receiver } from './receive.ts'

interface AdmissionOptions {
  readonly known: ReadonlyMap<string, KnownSource>
  readonly held: HeldBytes
  readonly acceptor: Acceptor
  readonly limits: Limits
  readonly refuse: Receiver['refuse']
}

/** Whom the receiver lets in: what can be refused before the body is read, and what the queue has no room for. */
export function admission({ known, held, acceptor, limits, refuse }: AdmissionOptions) {
  function admit(head: Head): Answer | undefined {
    if (!known.has(head.sourceName))
      return refuse(head, 'SOURCE_UNKNOWN', `no source is named "${head.sourceName.slice(0, 64)}"`)
    if (head.method !== 'POST' && !isOfHandshake(head))
      return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)
    const encoding = head.header('content-encoding')
    if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
      return refuse(head, 'CONTENT_ENCODING_UNSUPPORTED', `the content-encoding is ${encoding.slice(0, 64)}`)
    }
    const length = Number(head.header('content-length') ?? 0)
    if (length > limits.maxBodyBytes) return refuse(head, 'BODY_TOO_LARGE', `${length} bytes are announced`)
    if (isQueueFull()) return refuseQueued(head)
    if (held.bytes + length > limits.maxHeldBytes)
      return refuse(head, 'OVERLOADED', `${held.bytes} bytes are held`)
    return undefined
  }

  function isOfHandshake({ sourceName, method }: Head): boolean {
    return known.get(sourceName)?.source.handshakeMethods?.includes(method) === true
  }

  function isQueueFull(): boolean {
    return acceptor.waiting >= limits.maxWaiting
  }

  function refuseQueued(head: Head): Answer {
    return refuse(head, 'OVERLOADED', `${acceptor.waiting} deliveries wait`)
  }

  return { admit, isQueueFull, refuseQueued }
}
