import { z } from 'zod'
import { check } from '../input/checked.ts'
import { type EffectOptions, effect } from './effect.ts'
import type { FetchInit } from './fetch.ts'
import type { HandlerRun } from './run.ts'

/** Every attempt must send the same bytes, so a stream is not allowed: it can be read only once. */
type RepeatableBody = string | URLSearchParams | Uint8Array

export type FetchOnceInit = Omit<FetchInit, 'body' | 'mode'> &
  Pick<EffectOptions<RecordedReply>, 'mode' | 'downstreamTtlMs' | 'reconcile'> & {
    /** The business key of this call: there is one call per key. */
    readonly effect: string
    readonly body?: RepeatableBody | null
  }

/** A reply as it is recorded: later attempts get the same reply as the first. */
export interface RecordedReply {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Null if there is none, or it is too large to record. */
  readonly body: string | null
}

/** Less than the limit of a recorded result: the headers need room too. */
const MAX_BODY_BYTES = 48 * 1024
/** Headers that a handler may need; the others belong to the transport. */
const KEPT_HEADERS = ['content-type', 'location', 'request-id', 'x-request-id']

const bodySchema = z.union(
  [z.string(), z.instanceof(URLSearchParams), z.instanceof(Uint8Array), z.null(), z.undefined()],
  { error: 'the body must be text, URLSearchParams or bytes: it may have to be sent again' },
)

/**
 * An HTTP call as an effect. Its input is the request: another request with the same key is
 * refused.
 */
export async function fetchOnce(
  run: HandlerRun,
  url: string | URL,
  { effect: key, mode, downstreamTtlMs, reconcile, ...init }: FetchOnceInit,
): Promise<Response> {
  const body = check(bodySchema, init.body, `ctx.fetch("${key}")`)
  const input = { method: init.method ?? 'GET', url: String(url), body: textOf(body) }
  const reply = await effect<RecordedReply>(
    run,
    key,
    async ({ fetch }) => recorded(await fetch(url, { ...init, body: body ?? null })),
    {
      input,
      ...(mode === undefined ? {} : { mode }),
      ...(downstreamTtlMs === undefined ? {} : { downstreamTtlMs }),
      ...(reconcile === undefined ? {} : { reconcile }),
    },
  )
  // A person who confirmed the effect may not have had a reply to record.
  const { status, headers, body: text } = reply ?? { status: 200, headers: [], body: null }
  return new Response(status === 204 || status === 205 ? null : text, {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  })
}

function textOf(body: RepeatableBody | null | undefined): string | null {
  if (body === null || body === undefined) return null
  return body instanceof Uint8Array ? Buffer.from(body).toString('base64') : String(body)
}

async function recorded(reply: Response): Promise<RecordedReply> {
  // The call was made, even if its reply cannot be read.
  const text = await reply.text().catch(() => '')
  const keepable = Buffer.byteLength(text) <= MAX_BODY_BYTES && !text.includes('\0')
  const headers = KEPT_HEADERS.flatMap((name): [string, string][] => {
    const value = reply.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  return { status: reply.status, headers, body: keepable && text !== '' ? text : null }
}
