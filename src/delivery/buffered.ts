import { boundedBytes, isFault } from '../http/bounded-body.ts'
import type { Receiver } from './receiver.ts'
import type { Head } from './request.ts'

/** A request that a platform passes as plain data, such as AWS Lambda. */
export interface BufferedRequest {
  readonly method: string
  /** The path and the query. */
  readonly url: string
  /** Names and values alternate. */
  readonly headerPairs: readonly string[]
  readonly body: Buffer
}

/** Answers requests whose body is in memory: admit → measure the body → receive → respond. */
export function bufferedDoor<Reply>(respond: (reply: Reply) => Response) {
  return async (
    receiver: Receiver<Reply>,
    sourceName: string,
    request: BufferedRequest,
    peerAddress?: string,
  ): Promise<Response> => {
    const head = bufferedHead(sourceName, request, peerAddress)
    const refusal = receiver.admit(head)
    if (refusal) return respond(refusal)
    const share = receiver.held.share()
    try {
      const body = boundedBytes(request.body, receiver.limitsOf(head), share)
      if (isFault(body)) return respond(receiver.refuse(head, body.code, body.detail))
      return respond(await receiver.receive(head, body))
    } finally {
      share.release()
    }
  }
}

function bufferedHead(
  sourceName: string,
  { method, url, headerPairs }: BufferedRequest,
  peerAddress: string | undefined,
): Head {
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < headerPairs.length; at += 2) {
    const [name = '', value = ''] = headerPairs.slice(at, at + 2)
    const key = name.toLowerCase()
    const before = headers.get(key)
    headers.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return {
    sourceName,
    method,
    url,
    headerPairs,
    header: (name) => headers.get(name),
    peerAddress: () => peerAddress,
  }
}
