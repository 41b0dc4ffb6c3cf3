import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { retryAfterMs } from '../http/retry-after.ts'
import { withDeadline } from '../http/with-deadline.ts'
import { PLAIN } from '../input/plain-issues.ts'
import { MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'

export interface ApiAnswer {
  /** The body. It is valid JSON. */
  readonly text: string
  readonly json: unknown
  header(name: string): string | null
}

/** The API of a provider, read one request at a time. */
export interface ProviderApi {
  get(path: string, query?: Readonly<Record<string, string>>): Promise<ApiAnswer>
  /** Like `get`. Undefined if the API answers that the resource does not exist. */
  find(path: string): Promise<ApiAnswer | undefined>
}

/** Reports a wait for the API. */
export interface ApiWait {
  readonly waitMs: number
  readonly why: string
}

export interface ApiOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Texts that are removed from every message. */
  readonly apiKey: string
  readonly signal: AbortSignal
  onWait(wait: ApiWait): void
}

/** Most answers take less than a second. GitHub ends requests after ten seconds. */
const ANSWER_WITHIN_MS = MINUTE_MS
/** A page of a hundred Stripe events has a few megabytes, a payload of GitHub at most 25. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** The number of failures in a row before the run stops. With these delays: half a minute. */
const MAX_FAILURES = 6
const FIRST_PAUSE_MS = 500
/** A longer rate limit ends the run. Another run continues at the same place. */
const MAX_RATE_WAIT_MS = 15 * MINUTE_MS
const MAX_RATE_WAITS = 20
/** GitHub requires at least a minute if a secondary limit has no time. */
const SECONDARY_LIMIT_MS = MINUTE_MS

export function providerApi(options: ApiOptions): ProviderApi {
  const { signal, onWait } = options
  const base = options.url.replace(/\/+$/, '')
  const show = (text: string): string => text.replaceAll(options.apiKey, '…').slice(0, 300)

  async function request(path: string, query: Readonly<Record<string, string>> = {}): Promise<Answered> {
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    let failures = 0
    let rateWaits = 0
    for (;;) {
      const answered = await attempt(url, options)
      signal.throwIfAborted()
      const limitedMs = rateLimitMs(answered)
      if (limitedMs !== undefined) {
        rateWaits += 1
        if (limitedMs > MAX_RATE_WAIT_MS || rateWaits > MAX_RATE_WAITS)
          throw failed(`the rate limit of ${base} lasts ${Math.ceil(limitedMs / SECOND_MS)} s more`)
        await wait(limitedMs, 'rate limit')
      } else if ('fault' in answered || answered.status >= 500 || answered.status === 408) {
        failures += 1
        const fault = 'fault' in answered ? answered.fault : `status ${answered.status}`
        if (failures === MAX_FAILURES)
          throw failed(`GET ${base}${path} failed ${failures} times: ${show(fault)}`)
        await wait(FIRST_PAUSE_MS * 2 ** (failures - 1), show(fault))
      } else return answered
    }
  }

  async function wait(waitMs: number, why: string): Promise<void> {
    onWait({ waitMs, why })
    await delay(waitMs, undefined, { signal })
  }

  function accepted(path: string, { status, text, json, header }: Answered): ApiAnswer {
    if (status >= 200 && status < 300) return { text, json, header }
    throw new HookonceError('PROVIDER_API_REFUSED', `GET ${base}${path} answered ${status}: ${show(text)}`)
  }

  return {
    get: async (path, query) => accepted(path, await request(path, query)),
    async find(path) {
      const answered = await request(path)
      return answered.status === 404 || answered.status === 410 ? undefined : accepted(path, answered)
    },
  }
}

interface Answered extends ApiAnswer {
  readonly status: number
}

/** The answer to one request, or the reason why there is no usable answer. */
async function attempt(url: URL, { headers, signal }: ApiOptions): Promise<Answered | { fault: string }> {
  try {
    const tooSlow = (): Error => new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)
    const deadline = { parents: [signal], timeoutMs: ANSWER_WITHIN_MS, tooSlow }
    return await withDeadline(deadline, (ending) => exchange(url, headers, ending))
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return { fault: textOfThrown(cause) }
  }
}

async function exchange(url: URL, headers: ApiOptions['headers'], signal: AbortSignal): Promise<Answered> {
  const response = await fetch(url, {
    headers: { accept: 'application/json', 'user-agent': 'hookonce', ...headers },
    // fetch() drops Authorization on a redirect to another origin, but not the other headers.
    redirect: 'manual',
    signal,
  })
  const text = await readText(response)
  const { status } = response
  const header = (name: string): string | null => response.headers.get(name)
  // The text of an error need not be JSON.
  const json: unknown = response.ok ? JSON.parse(text) : undefined
  return { status, text, json, header }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The delay that a rate limit demands. Undefined if the answer is not a rate limit. */
function rateLimitMs(answered: Answered | { fault: string }): number | undefined {
  if ('fault' in answered || (answered.status !== 429 && answered.status !== 403)) return undefined
  const { status, header, text } = answered
  const given = retryAfterMs(header('retry-after'))
  if (given !== undefined) return given
  // GitHub's primary limit: when it resets, in epoch seconds.
  const reset = Number(header('x-ratelimit-reset'))
  if (header('x-ratelimit-remaining') === '0' && reset > 0)
    return Math.max(0, reset * SECOND_MS - Date.now()) + SECOND_MS
  if (/secondary rate limit/i.test(text)) return SECONDARY_LIMIT_MS
  // Stripe sends no time.
  return status === 429 ? 2 * SECOND_MS : undefined
}

function failed(detail: string): HookonceError {
  return new HookonceError('PROVIDER_API_FAILED', detail)
}

/** An answer in the documented shape. Any other shape ends the run. */
export function shaped<Schema extends z.ZodType>(
  schema: Schema,
  { json }: Pick<ApiAnswer, 'json'>,
  what: string,
): z.output<Schema> {
  const read = schema.safeParse(json, PLAIN)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw failed(`${what} does not have the documented shape: ${issue?.path.join('.')}: ${issue?.message}`)
}

/**
 * A parameter of the link to the next page. Only the parameter is used, never the link's address:
 * the API key must not go to another server.
 */
export function nextPage({ header }: Pick<ApiAnswer, 'header'>, parameter: string): string | undefined {
  for (const link of (header('link') ?? '').split(',')) {
    const [, url = '', attributes = ''] = /<([^>]*)>(.*)/.exec(link) ?? []
    if (!/\brel="?next"?/.test(attributes) || !URL.canParse(url)) continue
    return new URL(url).searchParams.get(parameter) ?? undefined
  }
  return undefined
}
