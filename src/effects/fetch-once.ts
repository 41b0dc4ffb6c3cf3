import { z } from 'zod'
import { check } from '../input/checked.ts'
import { type EffectOptions, type EffectWork, effect } from './effect.ts'
import type { FetchInit } from './fetch.ts'
import type { HandlerRun } from './run.ts'

/** Every attempt must send the same bytes, so a stream is not allowed: it can be read only once. */
type RepeatableBody = string | URLSearchParams | Uint8Array

export type FetchOnceInit = Omit<FetchInit, 'body' | 'mode'> &
  Pick<EffectOptions<RecordedReply>, 'mode' | 'downstreamTtlMs' | 'reconcile'> & {
    /** The business key of this call. hookonce makes one call per key. */
    readonly effect: string
    readonly body?: RepeatableBody | null
  }

/** A reply as it is recorded: later attempts get the same reply as the first. */
export interface RecordedReply {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** The body. Null if the reply has none, or if it is too large to record. */
  readonly body: string | null
}

/** A recorded result holds 64 KiB, including the headers. */
const MAX_BODY_BYTES = 48 * 1024
/** Headers that a handler may need. The other headers belong to the transport. */
const KEPT_HEADERS = ['content-type', 'location', 'request-id', 'x-request-id']

const bodySchema = z.union(
  [z.string(), z.instanceof(URLSearchParams), z.instanceof(Uint8Array), z.null(), z.undefined()],
  { error: 'the body must be text, URLSearchParams or bytes: it may have to be sent again' },
)

/** An HTTP call as the arguments of an effect. */
export interface FetchEffect {
  readonly key: string
  readonly work: EffectWork<RecordedReply>
  readonly options: EffectOptions<RecordedReply>
  /** The reply for the handler. Undefined: an operator confirmed the effect without a reply. */
  response(reply: RecordedReply | undefined): Response
}

/** The input of the effect is the request: another request with the same key is refused. */
export function fetchEffect(
  url: string | URL,
  { effect: key, mode, downstreamTtlMs, reconcile, ...init }: FetchOnceInit,
): FetchEffect {
  const body = check(bodySchema, init.body, `ctx.fetch("${key}")`)
  return {
    key,
    work: async ({ fetch }) => recorded(await fetch(url, { ...init, body: body ?? null })),
    options: {
      input: { method: init.method ?? 'GET', url: String(url), body: textOf(body) },
      ...(mode === undefined ? {} : { mode }),
      ...(downstreamTtlMs === undefined ? {} : { downstreamTtlMs }),
      ...(reconcile === undefined ? {} : { reconcile }),
    },
    response(reply) {
      const { status, headers, body: text } = reply ?? { status: 200, headers: [], body: null }
      return new Response(status === 204 || status === 205 ? null : text, {
        status,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
      })
    },
  }
}

export async function fetchOnce(run: HandlerRun, url: string | URL, init: FetchOnceInit): Promise<Response> {
  const { key, work, options, response } = fetchEffect(url, init)
  return response(await effect(run, key, work, options))
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
