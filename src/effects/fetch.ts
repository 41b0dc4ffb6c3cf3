import { z } from 'zod'
import { retryAfterMs } from '../http/retry-after.ts'
import { check, strict } from '../input/checked.ts'
import { storable } from '../ledger/driver/binary.ts'
import { HookonceError } from '../model/errors.ts'
import { NotDone, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { HandlerRun } from './run.ts'

/** Half of what a handler has by default: a reply that is lost leaves time to say so. */
const DEFAULT_TIMEOUT_MS = 30_000
/** Enough of a failing answer to see what it says. */
const MAX_QUOTE_CHARS = 300
/** The quote in characters of up to four bytes, generously. */
const MAX_QUOTE_BYTES = 4 * 1024
/** Far more than the answer to a call needs, and little enough for many calls at once. */
const MAX_REPLY_BYTES = 10 * 1024 * 1024

export interface FetchInit extends RequestInit {
  /** For the whole exchange, the body of the reply included. */
  readonly timeoutMs?: number
}

/** Returns a reply with a 2xx status, its body read; throws NotDone where the other side refused for good. */
export type EffectFetch = (url: string | URL, init?: FetchInit) => Promise<Response>

const timeoutSchema = strict({
  timeoutMs: z
    .number()
    .positive()
    .max(2 ** 31 - 1),
})

/** A request that could not even be made: nothing was sent, and that is known. */
export class Unsent extends HookonceError {
  constructor(url: string | URL, cause: unknown) {
    super('CONFIG_INVALID', `fetch("${url}"): nothing was sent: ${textOfThrown(cause)}`, { cause })
  }
}

/** fetch, as one effect uses it: with its key. */
export function effectFetch(run: HandlerRun, idempotencyKey: string): EffectFetch {
  return async (url, init = {}) => {
    const request = requestOf(run, url, { idempotencyKey, init })
    run.requireHeld()
    const reply = await exchange(request)
    if (reply.ok) return reply
    throw await refusalOf(url, reply)
  }
}

function requestOf(
  run: HandlerRun,
  url: string | URL,
  { idempotencyKey, init: { timeoutMs: given, ...init } }: { idempotencyKey: string; init: FetchInit },
): Request {
  try {
    const { timeoutMs } = check(timeoutSchema, { timeoutMs: given ?? DEFAULT_TIMEOUT_MS }, 'fetch()')
    const { protocol } = new URL(url)
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`${protocol} is not HTTP`)
    const headers = new Headers(init.headers)
    headers.set('idempotency-key', idempotencyKey)
    const signals = [
      run.interruption.signal,
      AbortSignal.timeout(timeoutMs),
      ...(init.signal ? [init.signal] : []),
    ]
    // A redirect is not an answer, and following it could hand the call to someone else.
    return new Request(url, { ...init, headers, signal: AbortSignal.any(signals), redirect: 'manual' })
  } catch (error) {
    throw new Unsent(url, error)
  }
}

/** The whole reply, within limits: one that breaks off in its body is lost like any other. */
async function exchange(request: Request): Promise<Response> {
  try {
    const reply = await fetch(request)
    const { status, statusText, headers } = reply
    const body = await bodyOf(reply, request.url)
    return new Response(hasNoBody(status) ? null : body, { status, statusText, headers })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new HookonceError(
      'REPLY_LOST',
      `${request.url}: no reply, so nobody knows whether it was done: ${cause}`,
      { cause: error },
    )
  }
}

/**
 * The other side decides how much it answers, not how much we hold. Of a refusal only the quote is wanted. Of a 2xx the
 * status has told that it is done: a body over the limit fails whoever reads it, and nobody else.
 */
async function bodyOf(reply: Response, url: string): Promise<Buffer | ReadableStream> {
  const limit = reply.ok ? MAX_REPLY_BYTES : MAX_QUOTE_BYTES
  const chunks: Uint8Array[] = []
  let bytes = 0
  // To leave the loop cancels the rest.
  for await (const chunk of reply.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > limit) return reply.ok ? unreadable(url) : Buffer.concat(chunks).subarray(0, limit)
  }
  return Buffer.concat(chunks)
}

function unreadable(url: string): ReadableStream {
  const fault = `${url} answered with more than ${MAX_REPLY_BYTES} bytes, of which none were kept`
  return new ReadableStream({
    pull: (controller) => controller.error(new HookonceError('REPLY_LOST', fault)),
  })
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/**
 * Statuses under 500 that do not tell whether the call was done: a time-out of the other side, a conflict with
 * a call of the same key that it is still at, a call that came too early.
 */
const UNDECIDED = new Set([408, 409, 425])

async function refusalOf(url: string | URL, reply: Response): Promise<Error> {
  // Cut, it may end in half a character.
  const quote = storable((await reply.text()).slice(0, MAX_QUOTE_CHARS))
  const text = `${url} answered ${reply.status}${quote === '' ? '' : `: ${quote}`}`
  const delayMs = retryAfterMs(reply.headers.get('retry-after'))
  if (reply.status < 500 && !UNDECIDED.has(reply.status)) {
    return new NotDone(text, delayMs === undefined ? {} : { delayMs })
  }
  if (delayMs !== undefined) return new RetryAfter(delayMs, text)
  return new HookonceError('REPLY_LOST', `${text}, which leaves open whether it was done`)
}
