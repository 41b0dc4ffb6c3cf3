import { z } from 'zod'
import { targetUrl } from '../http/target.ts'
import { check, strict } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { Permanent, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import { isOurs } from './header-names.ts'

/** The parts of a forwarded request that a transform may change. */
export interface Transformed {
  /**
   * Text and bytes are sent as they are, with the content type of the delivery; any other value is
   * sent as JSON. Default: the original body.
   */
  readonly body?: unknown
  /** Headers that are added to the usual ones. They replace headers of the same name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the URL of the destination. */
  readonly url?: string
}

/**
 * Returns the request for an event. Undefined: the event is not sent, and its job is complete. The
 * event is a copy; the ledger keeps the original.
 */
export type Transform = (event: Event) => Transformed | undefined | Promise<Transformed | undefined>

/** The result of a transform, checked and ready to be sent. */
export interface DraftParts {
  readonly url?: string | undefined
  readonly body?: Uint8Array | undefined
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * The content type of a body that was converted to JSON. Undefined: the content type of the
   * delivery.
   */
  readonly contentType?: string | undefined
}

/**
 * Calls a transform, in this thread or in another one. Undefined: the transform dropped the event.
 */
export type RunTransform = (event: Event, signal: AbortSignal) => Promise<DraftParts | undefined>

/** A request to a destination, before it is signed. */
export interface Draft extends DraftParts {
  readonly url: string
  readonly body: Uint8Array
  readonly isOtherUrl: boolean
}

const resultSchema = strict({
  body: z.unknown().optional(),
  headers: z
    .record(
      z
        .string()
        .toLowerCase()
        .regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 'is not a header name')
        .refine((name) => !isOurs(name), 'hookonce sets this header itself'),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'contains a character that headers do not allow'),
    )
    .optional(),
  url: targetUrl.optional(),
})

interface TransformTerms {
  readonly url: string
  readonly transform: RunTransform | undefined
  readonly signal: AbortSignal
}

/** Undefined: the transform dropped the event. */
export async function draftOf(event: Event, terms: TransformTerms): Promise<Draft | undefined> {
  const { url, transform, signal } = terms
  if (!transform) return { url, body: event.body, headers: {}, isOtherUrl: false }
  try {
    const parts = await transform(event, signal)
    if (parts === undefined) return undefined
    const { url: other = url, body = event.body } = parts
    return { ...parts, url: other, body, isOtherUrl: other !== url }
  } catch (error) {
    signal.throwIfAborted()
    throw failureOf(error)
  }
}

/** Runs a function in this thread. Only transforms from a file run in their own thread. */
export function inThisThread(transform: Transform): RunTransform {
  return async (event, signal) => partsOf(await called(transform, copyOf(event), signal))
}

/** Checks the result of a transform. */
export function partsOf(result: unknown): DraftParts | undefined {
  if (result === undefined || result === null) return undefined
  const { headers = {}, body, url } = check(resultSchema, result, 'its result')
  return { url, headers, ...(body === undefined ? {} : bodyOf(body)) }
}

/** Stops waiting when the signal is aborted, because a promise cannot be cancelled. */
async function called(transform: Transform, event: Event, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted()
  let onAbort: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([(async () => transform(event))(), aborted])
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

/** A transform may decide on retries as a handler does. */
function failureOf(error: unknown): Error {
  if (error instanceof Permanent || error instanceof RetryAfter) return error
  if (error instanceof HookonceError && error.code === 'TRANSFORM_FAILED') return error
  return new HookonceError('TRANSFORM_FAILED', textOfThrown(error), { cause: error })
}

/** Other destinations of this process may use the same event. */
function copyOf(event: Event): Event {
  return {
    ...event,
    payload: structuredClone(event.payload),
    object: structuredClone(event.object),
    body: Uint8Array.from(event.body),
    headers: { ...event.headers },
  }
}

function bodyOf(body: unknown): Pick<DraftParts, 'body' | 'contentType'> {
  if (typeof body === 'string') return { body: Buffer.from(body) }
  if (body instanceof Uint8Array) return { body }
  const json = JSON.stringify(body)
  if (json === undefined) throw new TypeError(`the body is a ${typeof body}; return text, bytes or JSON`)
  return { body: Buffer.from(json), contentType: 'application/json' }
}
