import { z } from 'zod'
import { retryAfterMs } from '../http/retry-after.ts'
import { withDeadline } from '../http/with-deadline.ts'
import { check, strict } from '../input/checked.ts'
import { storable } from '../ledger/driver/binary.ts'
import { HookonceError } from '../model/errors.ts'
import { NotDone, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { HandlerRun } from './run.ts'

/** Half of a handler's default timeout: leaves time to record a lost reply. */
const DEFAULT_TIMEOUT_MS = 30_000
/** Enough of an error response to understand it. */
const MAX_QUOTE_CHARS = 300
/** MAX_QUOTE_CHARS characters of up to four bytes, with a margin. */
const MAX_QUOTE_BYTES = 4 * 1024
/** Far more than a reply needs, and small enough for many parallel calls. */
const MAX_REPLY_BYTES = 10 * 1024 * 1024

export interface FetchInit extends RequestInit {
  /** The timeout of the whole exchange, including the body of the reply. */
  readonly timeoutMs?: number
}

/** Returns a 2xx reply with its whole body. Throws NotDone if the service refused for good. */
export type EffectFetch = (url: string | URL, init?: FetchInit) => Promise<Response>

const timeoutSchema = strict({
  timeoutMs: z
    .number()
    .positive()
    .max(2 ** 31 - 1),
})

/** The request could not be built, so nothing was sent. */
export class Unsent extends HookonceError {
  constructor(url: string | URL, cause: unknown) {
    super('CONFIG_INVALID', `fetch("${url}"): nothing was sent: ${textOfThrown(cause)}`, { cause })
  }
}

/** fetch with the key of one effect. */
export function effectFetch(run: HandlerRun, idempotencyKey: string): EffectFetch {
  return async (url, init = {}) => {
    const call = callOf(run, url, { idempotencyKey, init })
    run.requireHeld()
    const reply = await exchange(call)
    if (reply.ok) return reply
    throw await refusalOf(url, reply)
  }
}

interface Call {
  readonly request: Request
  readonly timeoutMs: number
  /** Signals that abort the request. */
  readonly parents: readonly AbortSignal[]
}

function callOf(
  run: HandlerRun,
  url: string | URL,
  { idempotencyKey, init }: { idempotencyKey: string; init: FetchInit },
): Call {
  const { timeoutMs: given, signal, ...rest } = init
  try {
    const { timeoutMs } = check(timeoutSchema, { timeoutMs: given ?? DEFAULT_TIMEOUT_MS }, 'fetch()')
    const { protocol } = new URL(url)
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`${protocol} is not HTTP`)
    const headers = new Headers(rest.headers)
    headers.set('idempotency-key', idempotencyKey)
    // Redirects are not followed: that could send the call to another service.
    const request = new Request(url, { ...rest, headers, redirect: 'manual' })
    return { request, timeoutMs, parents: [run.interruption.signal, ...(signal ? [signal] : [])] }
  } catch (error) {
    throw new Unsent(url, error)
  }
}

/** Reads the whole reply, within limits. A reply that breaks off in its body counts as lost. */
async function exchange({ request, timeoutMs, parents }: Call): Promise<Response> {
  const tooSlow = (): Error => new Error(`no reply within ${timeoutMs} ms`)
  try {
    return await withDeadline({ parents, timeoutMs, tooSlow }, async (signal) => {
      const reply = await fetch(request, { signal })
      const { status, statusText, headers } = reply
      const body = await bodyOf(reply, request.url)
      return new Response(hasNoBody(status) ? null : body, { status, statusText, headers })
    })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new HookonceError(
      'REPLY_LOST',
      `${request.url}: no reply, so it is unknown whether the call was done: ${cause}`,
      { cause: error },
    )
  }
}

/**
 * Limits the part of a reply that is held in memory. Of a refusal only the quote is needed. The
 * status of a 2xx already proves that the call was done, so a larger body fails only the code that
 * reads it.
 */
async function bodyOf(reply: Response, url: string): Promise<Buffer | ReadableStream> {
  const limit = reply.ok ? MAX_REPLY_BYTES : MAX_QUOTE_BYTES
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of reply.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > limit) return reply.ok ? unreadable(url) : Buffer.concat(chunks).subarray(0, limit)
  }
  return Buffer.concat(chunks)
}

function unreadable(url: string): ReadableStream {
  const fault = `the reply of ${url} is larger than ${MAX_REPLY_BYTES} bytes, and was not kept`
  return new ReadableStream({
    pull: (controller) => controller.error(new HookonceError('REPLY_LOST', fault)),
  })
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/**
 * Statuses below 500 that leave the outcome open: a timeout of the service, a conflict with a
 * running call that has the same key, or a call that came too early.
 */
const UNDECIDED = new Set([408, 409, 425])

async function refusalOf(url: string | URL, reply: Response): Promise<Error> {
  // The cut may split a character.
  const quote = storable((await reply.text()).slice(0, MAX_QUOTE_CHARS))
  const text = `${url} answered ${reply.status}${quote === '' ? '' : `: ${quote}`}`
  const delayMs = retryAfterMs(reply.headers.get('retry-after'))
  if (reply.status < 500 && !UNDECIDED.has(reply.status)) {
    return new NotDone(text, delayMs === undefined ? {} : { delayMs })
  }
  if (delayMs !== undefined) return new RetryAfter(delayMs, text)
  return new HookonceError('REPLY_LOST', `${text}; it is unknown whether the call was done`)
}
