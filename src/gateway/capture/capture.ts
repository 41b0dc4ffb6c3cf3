import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { guessSender } from '../../sources/diagnose/looks-like.ts'
import { secretVariable } from '../../sources/environment.ts'
import { headerIn } from '../../sources/headers.ts'
import { type CapturedRequest, CaptureRing } from './ring.ts'

/*
 * `hookonce dev` keeps requests to sources that are not configured, so that a developer can inspect
 * a provider's requests before writing any configuration. They are never recorded in the ledger, so
 * they are not acknowledged: the answer is 404, as in `hookonce serve`, which keeps nothing.
 */

/** Larger bodies are truncated: a developer only needs to see the shape. */
const MAX_BODY_BYTES = 256 * 1024
/** After this time a stalled sender is dropped. The limit of the listener is longer. */
const BODY_TIMEOUT_MS = 10_000
/** The number of requests that are read at the same time. */
const MAX_READING = 20

export interface Capture {
  /** Reads the request, answers it and keeps it. */
  take(request: IncomingMessage, response: ServerResponse): void
  readonly requests: CaptureRing
}

export function capture(onCaptured: (request: CapturedRequest) => void): Capture {
  const requests = new CaptureRing()
  let reading = 0

  async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new Date()
    const begun = performance.now()
    const { body, isCut } = await bodyOf(request)
    const durationMs = performance.now() - begun
    // Answers before guessing the provider, because the first guess loads all providers.
    const answer = { error: 'SOURCE_UNKNOWN', captured: true }
    response.writeHead(404, { 'content-type': 'application/json' }).end(`${JSON.stringify(answer)}\n`)
    const guess = await guessSender({ header: headerIn(request.headers) })
    const looksLike = guess?.providers ?? []
    const captured = {
      id: randomUUID(),
      at,
      method: request.method ?? '',
      url: request.url ?? '',
      headers: pairs(request.rawHeaders),
      body,
      isCut,
      durationMs,
      looksLike,
      advice: adviceFor(looksLike, request.url ?? ''),
    }
    requests.add(captured)
    onCaptured(captured)
  }

  return {
    requests,
    take(request, response) {
      if (reading >= MAX_READING) {
        request.resume()
        response.writeHead(503, { 'retry-after': '1' }).end()
        return
      }
      reading += 1
      keep(request, response)
        // The sender disconnected before the end of its body: there is nothing to show.
        .catch(() => response.destroy())
        .finally(() => {
          reading -= 1
        })
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<{ body: Buffer; isCut: boolean }> {
  const timer = setTimeout(() => request.destroy(new Error('the body stalled')), BODY_TIMEOUT_MS)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      // Reads and drops the rest of the body, so that the sender gets its answer.
      if (size < MAX_BODY_BYTES) chunks.push(chunk.subarray(0, MAX_BODY_BYTES - size))
      size += chunk.length
    }
  } finally {
    clearTimeout(timer)
  }
  return { body: Buffer.concat(chunks), isCut: size > MAX_BODY_BYTES }
}

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, index) => [
    raw[2 * index] ?? '',
    raw[2 * index + 1] ?? '',
  ])
}

/** The configuration that would accept the next request of this kind. */
function adviceFor([provider]: readonly string[], url: string): string {
  const name = /^\/in\/(?:[^/?]+\/)?([A-Za-z0-9][\w-]{0,63})/.exec(url)?.[1] ?? 'acme'
  if (provider === undefined)
    return `no provider is recognised; describe it: "${name}": { "provider": "custom", "secret": "env:${secretVariable(name)}", … } (docs/reference/sources.md)`
  if (name === provider)
    return `set ${secretVariable(provider)} and start again, or add "${name}": { "provider": "${provider}", "secret": "env:${secretVariable(provider)}" } to the sources`
  return `add "${name}": { "provider": "${provider}", "secret": "env:${secretVariable(provider)}" } to the sources`
}
