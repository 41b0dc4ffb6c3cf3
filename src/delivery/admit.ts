import type { BodyLimits } from '../http/bounded-body.ts'
import type { HeldBytes } from '../http/held-bytes.ts'
import type { Answer } from './answer.ts'
import type { GuardedSource } from './guard.ts'
import type { Refuse } from './refuse.ts'
import type { Head } from './request.ts'

interface AdmissionOptions {
  readonly sources: ReadonlyMap<string, GuardedSource>
  readonly limits: BodyLimits
  readonly held: HeldBytes
  readonly refuse: Refuse
}

/** Refuses a request before its body is read, if possible. */
export function admission({
  sources,
  limits,
  held,
  refuse,
}: AdmissionOptions): (head: Head) => Answer | undefined {
  return (head) => {
    const named = sources.get(head.sourceName)
    if (!named) return refuse(head, 'SOURCE_UNKNOWN', `no source is named "${head.sourceName.slice(0, 64)}"`)
    const { guard } = named
    const refusal = guard?.admit(head)
    if (refusal) return refuse(head, refusal.code, refusal.detail, refusal)
    if (head.method !== 'POST' && !named.source.handshakeMethods?.includes(head.method))
      return refuse(head, 'METHOD_NOT_ALLOWED', `the method is ${head.method}`)
    const encoding = head.header('content-encoding')
    if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity')
      return refuse(head, 'CONTENT_ENCODING_UNSUPPORTED', `the content-encoding is ${encoding.slice(0, 64)}`)
    // NaN if a framework has joined two equal headers ("24, 24"). The length is then measured while
    // the body is read.
    const length = Number(head.header('content-length') ?? 0) || 0
    if (length > (guard?.maxBodyBytes ?? limits.maxBodyBytes))
      return refuse(head, 'BODY_TOO_LARGE', `${length} bytes are announced`)
    if (!held.hasRoomFor(length)) return refuse(head, 'OVERLOADED', `there is no room for ${length} bytes`)
    return undefined
  }
}
