import { z } from 'zod'
import { check, strict } from '../model/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { NotDone, RetryAfter } from '../model/handler-errors.ts'
import { retryAfterMs } from '../model/retry-after.ts'
import type { HandlerRun } from './run.ts'

/** Half of what a handler has by default: a reply that is lost leaves time to say so. */
const DEFAULT_TIMEOUT_MS = 30_000
/** Enough of a failing answer to see what it says. */
const MAX_QUOTE_CHARS = 300

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

/** fetch, as one effect uses it: with its key. */
export function effectFetch(run: HandlerRun, idempotencyKey: string): EffectFetch {
  return async (url, { timeoutMs: given, ...init } = {}) => {
    const { timeoutMs } = check(timeoutSchema, { timeoutMs: given ?? DEFAULT_TIMEOUT_MS }, 'fetch()')
    const headers = new Headers(init.headers)
    headers.set('idempotency-key', idempotencyKey)
    const signals = [
      run.interruption.signal,
      AbortSignal.timeout(timeoutMs),
      ...(init.signal ? [init.signal] : []),
    ]
    run.requireHeld()
    const reply = await exchange(url, {
      ...init,
      headers,
      signal: AbortSignal.any(signals),
      // A redirect is not an answer, and following it could hand the call to someone else.
      redirect: 'manual',
    })
    if (reply.ok) return reply
    throw await refusalOf(url, reply)
  }
}

/** The whole reply: one that breaks off in its body is lost like any other. */
async function exchange(url: string | URL, init: RequestInit): Promise<Response> {
  try {
    const reply = await fetch(url, init)
    const body = await reply.arrayBuffer()
    const { status, statusText, headers } = reply
    return new Response(hasNoBody(status) ? null : body, { status, statusText, headers })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new HookonceError('REPLY_LOST', `${url}: no reply, so nobody knows whether it was done: ${cause}`, {
      cause: error,
    })
  }
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
  const quote = (await reply.text()).slice(0, MAX_QUOTE_CHARS)
  const text = `${url} answered ${reply.status}${quote === '' ? '' : `: ${quote}`}`
  const delayMs = retryAfterMs(reply.headers.get('retry-after'))
  if (reply.status < 500 && !UNDECIDED.has(reply.status)) {
    return new NotDone(text, delayMs === undefined ? {} : { delayMs })
  }
  if (delayMs !== undefined) return new RetryAfter(delayMs, text)
  return new HookonceError('REPLY_LOST', `${text}, which leaves open whether it was done`)
}
