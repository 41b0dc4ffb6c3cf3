import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { HookonceError } from '../model/errors.ts'
import { plainAddress } from './address-kinds.ts'
import type { AddressPolicy } from './address-policy.ts'
import { guardedLookup, type Resolve } from './guarded-lookup.ts'

/*
 * The connections to one configured server. They are kept alive and bounded, and no other server
 * shares them: a slow server can only use up its own.
 */

export interface HttpPoolOptions {
  /**
   * The number of connections, separately for http and https. Further requests wait for a
   * connection.
   */
  readonly maxConnections: number
  readonly policy: AddressPolicy
  readonly resolve: Resolve
}

export interface OutgoingPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Ends the exchange: waiting for a connection, connecting, sending and receiving. */
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the body. Empty for a 2xx. */
  readonly quote: string
}

export interface HttpPool {
  /** Resolves with any answer, even a redirect. Rejects if there was no answer. */
  post(outgoing: OutgoingPost): Promise<HttpAnswer>
}

/** Many servers close idle connections after 5 s; a request sent at that moment would be lost. */
const IDLE_MS = 4_000
/** Enough of an error response to show the reason. */
const MAX_QUOTE_BYTES = 300
/** A connection whose response is larger or slower than this is closed instead of reused. */
const MAX_RESPONSE_BYTES = 64 * 1024
const RESPONSE_BODY_MS = 1_000

export function httpPool({ maxConnections, policy, resolve }: HttpPoolOptions): HttpPool {
  const options = {
    keepAlive: true,
    maxSockets: maxConnections,
    maxTotalSockets: maxConnections,
    maxFreeSockets: maxConnections,
    timeout: IDLE_MS,
    lookup: guardedLookup(policy, resolve),
  }
  const plain = new http.Agent(options)
  const secure = new https.Agent(options)

  function send(url: URL, { headers, body, signal }: OutgoingPost, isRepeat = false): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const isSecure = url.protocol === 'https:'
      const request = (isSecure ? https : http).request(url, {
        method: 'POST',
        headers: { ...headers, 'content-length': body.byteLength },
        agent: isSecure ? secure : plain,
        signal,
      })
      request.on('response', (response) => resolve(answerOf(response)))
      // After the response, neither an error nor a close changes the result.
      request.on('error', (error) => {
        // The server closed an idle connection just before its reuse.
        const wasStale = request.reusedSocket && isReset(error) && !isRepeat && !signal.aborted
        if (wasStale) resolve(send(url, { url: url.href, headers, body, signal }, true))
        else reject(error)
      })
      // `close` is the last event of a request. If no other event came before, the server switched
      // protocols.
      request.on('close', () => reject(new Error('the connection was closed without a response')))
      request.end(body)
    })
  }

  return {
    async post(outgoing) {
      outgoing.signal.throwIfAborted()
      const url = new URL(outgoing.url)
      // Node calls `lookup` for names only, so an address is checked here.
      const refusal = plainAddress(url.hostname) && policy.refusal(url.hostname, url.hostname)
      if (refusal !== undefined) throw new HookonceError('ADDRESS_REFUSED', refusal)
      return send(url, outgoing)
    },
  }
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE'
}

async function answerOf(response: IncomingMessage): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = response
  const quote = beginningOf(response)
  // The status of a 2xx is the whole result. Its body is read only so that the connection can be
  // reused.
  return { status, headers, quote: isSuccess(status) ? '' : await quote }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Reads the whole body within limits. Resolves when it has ended, or the connection was closed. */
function beginningOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const kept: Buffer[] = []
    let bytes = 0
    const timer = setTimeout(() => response.destroy(), RESPONSE_BODY_MS)
    response.on('data', (chunk: Buffer) => {
      if (bytes < MAX_QUOTE_BYTES) kept.push(chunk.subarray(0, MAX_QUOTE_BYTES - bytes))
      bytes += chunk.length
      if (bytes > MAX_RESPONSE_BYTES) response.destroy()
    })
    // The status has already decided the result, whether or not the body is complete.
    response.on('error', () => undefined)
    response.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(kept).toString('utf8'))
    })
  })
}
