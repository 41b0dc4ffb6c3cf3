import { addressPolicy } from '../http/address-policy.ts'
import type { Resolve } from '../http/guarded-lookup.ts'
import { type HttpAnswer, httpPool, type OutgoingPost } from '../http/http-pool.ts'
import { withDeadline } from '../http/with-deadline.ts'
import { HANDLER_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { Deferred, RetryAfter } from '../model/handler-errors.ts'
import { quoting } from '../model/thrown.ts'
import type { Observer } from '../observe/observer.ts'
import type { ForwardSpan, SpanEnd } from '../observe/span.ts'
import type { SigningSource } from '../sources/sign.ts'
import { CONCURRENCY, type Destination } from './destination.ts'
import { isolatedTransform } from './isolated-transform.ts'
import { outcomeOf } from './outcome.ts'
import { requestHeaders } from './request-headers.ts'
import { secretMask } from './secret-mask.ts'
import { draftOf, inThisThread, type RunTransform } from './transform.ts'

/** The part of a handler's context that forwarding uses. */
interface ForwardContext {
  readonly attempt: number
  readonly signal: AbortSignal
  idempotencyKey(name: string): string
}

export type ForwardHandler = (event: Event, ctx: ForwardContext) => Promise<void>

export interface ForwardDeps {
  readonly resolve: Resolve
  /** Pauses the destination after a 410: it no longer exists. */
  disable(reason: string): Promise<void>
  /** Whether errors quote the response: a destination may echo the request. Default true. */
  readonly quotes?: boolean
  /** Opens spans around requests, and provides the trace context of the current span. */
  readonly tracing?: Pick<Observer, 'inSpan' | 'traceContext'>
}

/**
 * A destination that answered 410 is not called again before its pause has reached every worker.
 */
const GONE_DELAY_MS = 1_000

/**
 * Forwards events to one destination over connections of its own. The result makes a handler for
 * each of its sources.
 */
export function forwarder(
  destination: Destination,
  { resolve, disable, tracing = {}, quotes = true }: ForwardDeps,
): (source: Pick<SigningSource, 'description'>) => ForwardHandler {
  const { url, timeoutMs = HANDLER_MS, maxConnections = CONCURRENCY } = destination
  const transform = runnerOf(destination)
  const policy = addressPolicy(destination.allowPrivate ?? [])
  requirePermitted(destination, policy.refusalOf(new URL(url).hostname))
  const withoutSecrets = secretMask(destination)
  const pool = httpPool({ maxConnections, policy, resolve })

  return ({ description }) => {
    const headersOf = requestHeaders(destination, description)
    return (event, ctx) => {
      let isDrafted = false
      const tooSlow = (): Error =>
        isDrafted
          ? failure(`${placeOf(url)} did not answer within ${timeoutMs} ms`)
          : new HookonceError('TRANSFORM_FAILED', `the transform did not finish within ${timeoutMs} ms`)
      return withDeadline({ parents: [ctx.signal], timeoutMs, tooSlow }, async (signal) => {
        const draft = await draftOf(event, { url, transform, signal })
        isDrafted = true
        if (!draft) return
        const send = (): Promise<HttpAnswer> => {
          const facts = {
            attempt: ctx.attempt,
            idempotencyKey: ctx.idempotencyKey('forward'),
            // Read inside the span of the request, so that the destination continues that span.
            traceContext: tracing.traceContext?.(),
          }
          const headers = headersOf(event, draft, facts)
          return exchange(pool.post, { url: draft.url, headers, body: draft.body, signal })
        }
        const { quote, ...answered } = await (tracing.inSpan
          ? tracing.inSpan(
              spanOf(event, { destination, attempt: ctx.attempt, url: draft.url }),
              send,
              spanEnd,
            )
          : send())
        const answer = { ...answered, quote: withoutSecrets(quote) }
        await conclude(answer, { url: draft.url, disable: draft.isOtherUrl ? undefined : disable, quotes })
      })
    }
  }
}

function runnerOf({ transform }: Destination): RunTransform | undefined {
  if (transform === undefined) return undefined
  return typeof transform === 'function' ? inThisThread(transform) : isolatedTransform(transform)
}

interface ForwardAttempt {
  readonly destination: Destination
  readonly attempt: number
  readonly url: string
}

function spanOf({ source, receiptId }: Event, { destination, attempt, url }: ForwardAttempt): ForwardSpan {
  const { origin } = new URL(url)
  return { kind: 'forward', source, destination: destination.name, receiptId, attempt, origin }
}

/** A response that makes the job fail is an error of the attempt, not of the exchange. */
function spanEnd(settled: PromiseSettledResult<HttpAnswer>): SpanEnd {
  if (settled.status === 'rejected') return { outcome: 'error', error: settled.reason }
  return { outcome: String(settled.value.status) }
}

async function exchange(
  post: (outgoing: OutgoingPost) => Promise<HttpAnswer>,
  outgoing: OutgoingPost,
): Promise<HttpAnswer> {
  try {
    return await post(outgoing)
  } catch (error) {
    outgoing.signal.throwIfAborted()
    if (error instanceof HookonceError) throw error
    throw failure(`${placeOf(outgoing.url)} could not be reached: ${causeOf(error)}`, error)
  }
}

interface Conclusion {
  readonly url: string
  readonly quotes: boolean
  /** Undefined: the response came from a URL of the transform, not from the destination. */
  readonly disable: ForwardDeps['disable'] | undefined
}

/**
 * Returns if the event was delivered. Otherwise throws an error by which the worker settles the
 * job.
 */
async function conclude(answer: HttpAnswer, { url, disable, quotes }: Conclusion): Promise<void> {
  const outcome = outcomeOf(answer, quotes)
  if (outcome.kind === 'delivered') return
  const text = `${placeOf(url)} ${outcome.reason}`
  if (outcome.kind === 'gone' && disable) {
    await disable(text)
    throw new Deferred(GONE_DELAY_MS, `${text}: the destination is paused`)
  }
  if (outcome.kind === 'gone') throw failure(text)
  const { retryAfterMs: delayMs, quote } = outcome
  throw quoting(delayMs === undefined ? failure(text) : new RetryAfter(delayMs, text), quote)
}

function requirePermitted({ name }: Destination, refusal: string | undefined): void {
  if (refusal === undefined) return
  throw new HookonceError('CONFIG_INVALID', `destinations.${name}.url: ${refusal} to destinations.${name}`)
}

function failure(text: string, cause?: unknown): HookonceError {
  return new HookonceError('FORWARD_FAILED', text, { cause })
}

/** The URL without its query, which may hold a token: errors are stored and shown. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function causeOf(error: unknown): string {
  // If Node tried several addresses, its own message is empty.
  if (error instanceof AggregateError) return error.errors.map(causeOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
