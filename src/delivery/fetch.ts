import { isFault } from '../http/bounded-body.ts'
import { readFetchBody } from '../http/pulled-body.ts'
import type { Answer } from './answer.ts'
import type { Receiver } from './receiver.ts'
import { fetchHead } from './request.ts'

/** Answers requests of the fetch standard: admit → read the body → receive → respond. */
export function fetchDoor<Reply>(respond: (reply: Reply) => Response) {
  return async (
    receiver: Receiver<Reply>,
    sourceName: string,
    request: Request,
    peerAddress?: string,
  ): Promise<Response> => {
    const head = fetchHead(sourceName, request, peerAddress)
    const refusal = receiver.admit(head)
    if (refusal) return respond(refusal)
    const share = receiver.held.share()
    try {
      const body = await readFetchBody(request, receiver.limitsOf(head), share)
      if (isFault(body)) return respond(receiver.refuse(head, body.code, body.detail))
      return respond(await receiver.receive(head, body))
    } finally {
      share.release()
    }
  }
}

/** Statuses whose responses must not have a body, not even an empty one. */
const BODILESS = new Set([101, 204, 205, 304])

export function responseOf({ status, headers, body }: Answer): Response {
  return new Response(BODILESS.has(status) ? null : body, { status, headers: { ...headers } })
}
