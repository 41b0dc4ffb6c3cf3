import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** One request that reached the service. */
export interface RecordedCall {
  readonly path: string
  readonly key: string
  readonly body: string
  /** Whether the service acted, or recognised the key of an earlier call. */
  readonly acted: boolean
}

/** The answer to a request. With `hang` and `cut` the service acts, and does not answer. */
export type Reply = number | 'hang' | 'cut'

/**
 * A recording server that honours idempotency keys: it acts once per key, and then repeats its
 * answer.
 */
export interface Downstream {
  readonly url: string
  readonly calls: readonly RecordedCall[]
  /** The number of actions, by path. */
  acted(path: string): number
  /** Answers for the next requests to a path, in turn. Then 200. */
  reply(path: string, ...replies: Reply[]): void
  close(): void
}

interface DownstreamOptions {
  /** Gets each call, with its planned reply, instead of `calls`: a long run makes too many. */
  readonly onCall?: (call: RecordedCall, reply: Reply) => void
}

export async function startDownstream({ onCall }: DownstreamOptions = {}): Promise<Downstream> {
  const calls: RecordedCall[] = []
  let count = 0
  const done = new Map<string, { status: number; body: string }>()
  const replies = new Map<string, Reply[]>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const key = String(request.headers['idempotency-key'] ?? '')
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (request.method === 'GET') return lookUp(path, response)
    const known = done.get(key)
    const reply = replies.get(path)?.shift() ?? 200
    const acts = !known && (typeof reply !== 'number' || reply < 400)
    const call = { path, key, body, acted: acts }
    count += 1
    if (onCall) onCall(call, known?.status ?? reply)
    else calls.push(call)
    const answered = known ?? {
      status: typeof reply === 'number' ? reply : 200,
      body: JSON.stringify({ call: count }),
    }
    if (acts) done.set(key, answered)
    if (reply === 'cut') return void request.socket.destroy()
    if (reply === 'hang') return
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(answered.body)
  }

  /** `GET /keys/<key>` returns whether the service acted on a call with this key. */
  function lookUp(path: string, response: ServerResponse): void {
    const found = done.get(path.slice('/keys/'.length))
    response.writeHead(found ? 200 : 404).end(found?.body ?? '')
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  function close(): void {
    server.close()
    server.closeAllConnections()
  }
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    acted: (path) => calls.filter((call) => call.path === path && call.acted).length,
    reply: (path, ...next) => void replies.set(path, next),
    close,
  }
}
