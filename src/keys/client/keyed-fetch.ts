import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS, SECOND_MS } from '../../model/durations.ts'
import { type RetryAdvice, retryAdvice } from './retry-advice.ts'

/*
 * The client side of idempotency keys. It can safely retry a request, because every try carries the
 * same key and the same bytes. It uses only web-standard APIs, so it also runs in browsers and
 * workers.
 */

/** Timers hold 31 bits of milliseconds. A larger value would fire at once. */
const duration = z
  .int()
  .positive()
  .max(2 ** 31 - 1)

const callable = <Function_>() =>
  z.custom<Function_>((value) => typeof value === 'function', 'must be a function')

const optionsSchema = strict({
  /** With the delays below, five tries take about ten seconds, which is how long people wait. */
  maxTries: z.int().positive().default(5),
  /** The upper limit of the delay before the second try. It doubles before each further try. */
  baseDelayMs: duration.default(SECOND_MS / 2),
  maxDelayMs: duration.default(10 * SECOND_MS),
  /** For one try, until the response headers arrive. */
  tryTimeoutMs: duration.default(30 * SECOND_MS),
  /**
   * For all tries together. Far shorter than servers keep keys: after that, a retry would be a new
   * request.
   */
  totalMs: duration.default(2 * MINUTE_MS),
  /** Generates the key of a request that has none. */
  newKey: callable<() => string>().default(() => () => crypto.randomUUID()),
  /** Called before each delay. */
  onRetry: callable<(retry: Retry) => void>().optional(),
  fetch: callable<(request: Request, init: { signal: AbortSignal }) => Promise<Response>>().default(
    () => fetch,
  ),
})

export type KeyedFetchOptions = z.input<typeof optionsSchema>
type CheckedOptions = z.output<typeof optionsSchema>

export interface Retry {
  readonly key: string
  /** How many tries have been made. */
  readonly tries: number
  readonly delayMs: number
  /** The status of the last try, or the error that it threw. */
  readonly status?: number
  readonly error?: unknown
}

export type KeyedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` that retries a request until it is answered, with one `Idempotency-Key` and the same
 * bytes in all tries.
 *
 * ```ts
 * const send = keyedFetch()
 * const body = JSON.stringify(order)
 * const response = await send('https://api.example.com/orders', { method: 'POST', body })
 * ```
 *
 * Resolves with the last response, whatever its status. If no try was answered, rejects with the
 * error of the last one.
 */
export function keyedFetch(options: KeyedFetchOptions = {}): KeyedFetch {
  const checked = check(optionsSchema, options, 'keyedFetch()')
  return async (input, init) => {
    const request = new Request(input, init)
    const key = request.headers.get('idempotency-key') ?? checked.newKey()
    request.headers.set('idempotency-key', key)
    // Read into memory, because a stream can be sent only once.
    const body = request.body === null ? {} : { body: await request.arrayBuffer() }
    return sendUntilAnswered(checked, key, {
      abort: request.signal,
      // Node holds the signal of a Request weakly: a garbage collection could remove the deadline.
      send: (signal) => checked.fetch(new Request(request, { ...body, signal }), { signal }),
    })
  }
}

interface RetriedRequest {
  /** The caller's signal. */
  readonly abort: AbortSignal
  send(signal: AbortSignal): Promise<Response>
}

async function sendUntilAnswered(
  options: CheckedOptions,
  key: string,
  retried: RetriedRequest,
): Promise<Response> {
  const end = performance.now() + options.totalMs
  for (let tries = 1; ; tries++) {
    const result = await tryOnce(retried, options.tryTimeoutMs)
    // Do not retry a request that the caller aborted.
    retried.abort.throwIfAborted()
    const delayMs = delayBefore(tries + 1, options, result)
    const isLast = !result.retryable || tries === options.maxTries || performance.now() + delayMs > end
    if (isLast && result.response) return result.response
    if (isLast) throw result.error
    const { response, error } = result
    options.onRetry?.({ key, tries, delayMs, ...(response ? { status: response.status } : { error }) })
    // An unread body would keep its connection open.
    await response?.body?.cancel()
    await pause(delayMs, retried.abort)
  }
}

interface TryResult extends RetryAdvice {
  readonly response?: Response
  readonly error?: unknown
}

async function tryOnce({ send, abort }: RetriedRequest, timeoutMs: number): Promise<TryResult> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new DOMException(`no reply within ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  )
  try {
    const response = await send(AbortSignal.any([abort, timeout.signal]))
    return { response, ...retryAdvice(response, Date.now()) }
  } catch (error) {
    // The request may or may not have arrived. A retry is safe, because it carries the same key.
    return { error, retryable: true }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Full jitter on top of Retry-After, so that clients that failed together do not retry together.
 */
function delayBefore(
  tries: number,
  { baseDelayMs, maxDelayMs }: CheckedOptions,
  { afterMs = 0 }: TryResult,
): number {
  return afterMs + Math.random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (tries - 2))
}

function pause(delayMs: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    function finish(): void {
      clearTimeout(timer)
      abort.removeEventListener('abort', finish)
      if (abort.aborted) reject(abort.reason)
      else resolve()
    }
    const timer = setTimeout(finish, delayMs)
    abort.addEventListener('abort', finish)
    if (abort.aborted) finish()
  })
}
