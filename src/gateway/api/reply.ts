import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { HookonceError } from '../../model/errors.ts'
import { TooManyAttempts } from './attempts.ts'
import { PROBLEM_MEDIA, problemOf } from './problem.ts'

/** A body that is sent while it is being produced. */
export interface LiveBody {
  readonly texts: AsyncIterable<string>
  /** The client has disconnected. */
  end(): void
  /**
   * Aborted if the body has ended and the client does not read the rest. The client is then
   * disconnected.
   */
  readonly cut: AbortSignal
}

/** A response. It has `json` or `body`; without both it is empty. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly body?: string | Buffer | LiveBody
}

/* A response is for one caller at one time, so it is never cached, and never rendered as a page. */
const ALWAYS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  vary: 'authorization, cookie',
} as const

export async function sendReply(response: ServerResponse, reply: Reply): Promise<void> {
  const { status, headers = {}, json, body } = reply
  if (json !== undefined) {
    const text = JSON.stringify(json)
    response.writeHead(status, { ...ALWAYS, 'content-type': 'application/json', ...headers }).end(text)
    return
  }
  response.writeHead(status, { ...ALWAYS, ...headers })
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
    response.end(body)
    return
  }
  // Ends the body here: the pipeline would notice a closed connection only at the next chunk.
  response.once('close', body.end)
  if (response.destroyed) body.end()
  // A client that disconnects ends its stream. That is not a failure.
  await pipeline(body.texts, response, { signal: body.cut }).catch((error) => {
    if (!response.destroyed) throw error
  })
}

/** The Retry-After in seconds, unless the error has its own. */
const RETRY_AFTER = '1'

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const found = problemOf(error)
  const headers: Record<string, string> = { ...ALWAYS, 'content-type': PROBLEM_MEDIA }
  if (found.status === 401) headers['www-authenticate'] = 'Bearer realm="hookonce"'
  if (error instanceof TooManyAttempts) headers['retry-after'] = String(error.retryAfterSeconds)
  else if (found.status === 503) headers['retry-after'] = RETRY_AFTER
  if (error instanceof MethodUnsupported) headers.allow = error.allowed.join(', ')
  // The rest of an oversized body is not read.
  if (found.code === 'REQUEST_TOO_LARGE') headers.connection = 'close'
  response.writeHead(found.status, headers).end(JSON.stringify(found))
}

export class MethodUnsupported extends HookonceError {
  readonly allowed: readonly string[]

  constructor(method: string, allowed: readonly string[]) {
    super('METHOD_UNSUPPORTED', `this path takes ${allowed.join(', ')}, not ${method}`)
    this.allowed = allowed
  }
}
