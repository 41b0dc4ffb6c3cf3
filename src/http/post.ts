import { type ErrorCode, HookonceError } from '../model/errors.ts'
import { RetryAfter } from '../model/handler-errors.ts'
import { quoting } from '../model/thrown.ts'
import { maskOf } from './mask.ts'
import { retryAfterMs } from './retry-after.ts'

/** One POST to another server. */
export interface Post {
  readonly url: string
  /** The name of the target in errors, if its URL is a secret. */
  readonly shownUrl?: string
  /** Secrets in the URL. They are masked if the other server echoes them. */
  readonly secrets?: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal: AbortSignal
  /** Logs omit the response of the other server: it may echo a body. */
  readonly isPrivate?: boolean
  /** The code of a failure. */
  readonly failure: ErrorCode
}

/** Enough of an error response to show the reason. */
const MAX_QUOTE_CHARS = 300

/** Returns on a 2xx. Otherwise throws an error that quotes the response, with its Retry-After. */
export async function post(outgoing: Post): Promise<void> {
  const response = await send(outgoing)
  if (!response.ok) throw await failureOf(outgoing, response)
  await response.body?.cancel()
}

async function send({ url, shownUrl = url, headers, body, signal, failure }: Post): Promise<Response> {
  try {
    // A redirect is not an acknowledgement: following it could send the message to another server.
    return await fetch(url, { method: 'POST', headers, body: Buffer.from(body), signal, redirect: 'manual' })
  } catch (error) {
    signal.throwIfAborted()
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new HookonceError(failure, `${shownUrl} could not be reached: ${cause}`, { cause: error })
  }
}

async function failureOf(
  { url, shownUrl = url, secrets = [], failure, isPrivate }: Post,
  response: Response,
): Promise<Error> {
  const quote = maskOf(secrets)(await quoteOf(response))
  const text = `${shownUrl} answered ${response.status}${quote === '' ? '' : `: ${quote}`}`
  const delayMs = retryAfterMs(response.headers.get('retry-after'))
  const error = delayMs === undefined ? new HookonceError(failure, text) : new RetryAfter(delayMs, text)
  return isPrivate ? quoting(error, quote) : error
}

// Reads the first chunk only, because the server chooses the size of the response.
async function quoteOf(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  try {
    const { value } = await reader.read()
    return Buffer.from(value ?? [])
      .toString('utf8')
      .slice(0, MAX_QUOTE_CHARS)
  } catch (error) {
    return `(its body could not be read: ${String(error)})`
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
