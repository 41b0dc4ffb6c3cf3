import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS, SECOND_MS } from '../../model/durations.ts'
import { type Verdict, verdictOn } from './verdict.ts'

/*
 * The other side of the key: a client that may send a request again, because every try has the same key and the same
 * bytes. It uses nothing but the interfaces of the web, so that it runs in browsers and workers too.
 */

/** A timer holds 31 bits of milliseconds; beyond that it would fire at once. */
const duration = z
  .int()
  .positive()
  .max(2 ** 31 - 1)

const callable = <Function_>() =>
  z.custom<Function_>((value) => typeof value === 'function', 'must be a function')

const optionsSchema = strict({
  /** With the delays below, five tries reach over some ten seconds, which is how long people wait. */
  maxTries: z.int().positive().default(5),
  /** Before the second try at most this, and twice as much before each further one. */
  baseDelayMs: duration.default(SECOND_MS / 2),
  maxDelayMs: duration.default(10 * SECOND_MS),
  /** For one try, up to the head of its reply. */
  tryTimeoutMs: duration.default(30 * SECOND_MS),
  /** For all tries together. Far less than servers keep keys: after that, a retry would be a new request. */
  totalMs: duration.default(2 * MINUTE_MS),
  /** Makes the key of a request that brings none. */
  newKey: callable<() => string>().default(() => () => crypto.randomUUID()),
  /** Is told before each wait. */
  onRetry: callable<(retry: Retry) => void>().optional(),
  fetch: callable<(request: Request) => Promise<Response>>().default(() => fetch),
})

export type KeyedFetchOptions = z.input<typeof optionsSchema>
type Checked = z.output<typeof optionsSchema>

export interface Retry {
  readonly key: string
  /** How many tries there have been. */
  readonly tries: number
  readonly delayMs: number
  /** What came of the last one, or what it threw. */
  readonly status?: number
  readonly error?: unknown
}

export type KeyedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` that sends a request until it is answered, with one `Idempotency-Key` and the same bytes for all tries.
 *
 *   const send = keyedFetch()
 *   const response = await send('https://api.example.com/orders', { method: 'POST', body: JSON.stringify(order) })
 *
 * Resolves with the last response, whatever its status; rejects with what the last try threw, where none was answered.
 */
export function keyedFetch(options: KeyedFetchOptions = {}): KeyedFetch {
  const checked = check(optionsSchema, options, 'keyedFetch()')
  return async (input, init) => {
    const request = new Request(input, init)
    const key = request.headers.get('idempotency-key') ?? checked.newKey()
    request.headers.set('idempotency-key', key)
    // Read once, because a stream cannot be sent twice.
    const body = request.body === null ? {} : { body: await request.arrayBuffer() }
    return sendUntilAnswered(checked, key, {
      abort: request.signal,
      send: (signal) => checked.fetch(new Request(request, { ...body, signal })),
    })
  }
}

interface Sending {
  /** The caller's. */
  readonly abort: AbortSignal
  send(signal: AbortSignal): Promise<Response>
}

async function sendUntilAnswered(options: Checked, key: string, sending: Sending): Promise<Response> {
  const end = performance.now() + options.totalMs
  for (let tries = 1; ; tries++) {
    const tried = await tryOnce(sending, options.tryTimeoutMs)
    // What the caller has called off is not tried again.
    sending.abort.throwIfAborted()
    const delayMs = delayBefore(tries + 1, options, tried)
    const isLast = !tried.again || tries === options.maxTries || performance.now() + delayMs > end
    if (isLast && tried.response) return tried.response
    if (isLast) throw tried.error
    const { response, error } = tried
    options.onRetry?.({ key, tries, delayMs, ...(response ? { status: response.status } : { error }) })
    // Unread, it would keep its connection.
    await response?.body?.cancel()
    await pause(delayMs, sending.abort)
  }
}

interface Tried extends Verdict {
  readonly response?: Response
  readonly error?: unknown
}

async function tryOnce({ send, abort }: Sending, timeoutMs: number): Promise<Tried> {
  const given = new AbortController()
  const timer = setTimeout(
    () => given.abort(new DOMException(`no reply within ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  )
  try {
    const response = await send(AbortSignal.any([abort, given.signal]))
    return { response, ...verdictOn(response, Date.now()) }
  } catch (error) {
    // Whether it arrived is not known, and need not be: the key says that it is the same.
    return { error, again: true }
  } finally {
    clearTimeout(timer)
  }
}

/** Full jitter, so that clients that failed together do not come back together; on top of what the server asked for. */
function delayBefore(tries: number, { baseDelayMs, maxDelayMs }: Checked, { afterMs = 0 }: Tried): number {
  return afterMs + Math.random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (tries - 2))
}

function pause(delayMs: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    function over(): void {
      clearTimeout(timer)
      abort.removeEventListener('abort', over)
      if (abort.aborted) reject(abort.reason)
      else resolve()
    }
    const timer = setTimeout(over, delayMs)
    abort.addEventListener('abort', over)
    if (abort.aborted) over()
  })
}
