import type { ServerResponse } from 'node:http'
import { type NodeRequest, type NodeResponse, rawRequest, rawResponse } from '../http/framework-request.ts'
import { replyOf, responseOf } from '../keys/http/fetch.ts'
import { grouped, type Reply, withHeaders } from '../keys/http/message.ts'
import { detailOf } from '../keys/http/problem.ts'
import { type BodyLimits, OF_BODIES, readFetchBody, readSignedBody } from '../keys/http/read-body.ts'
import { sendBody } from '../keys/http/send-body.ts'
import type { RunContext } from '../keys/run.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Source } from '../sources/contract.ts'
import { headerIn } from '../sources/headers.ts'
import { checkInlineOptions, type InlineOptions } from './options.ts'
import { type Head, type InlineFact, type InlineReceiver, inlineReceiver } from './receive.ts'

/**
 * A Response that it returns is the answer; anything else is answered 200. What it throws is
 * answered 500.
 */
export type InlineHandler<HandledEvent = Event> = (event: HandledEvent, context: RunContext) => unknown

/** Two doors to one receiver. */
export interface Inline {
  /**
   * For node:http, Express, Fastify and the like: before any body parser, or after one that keeps
   * the bytes.
   */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>
  /** For whatever speaks the fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Handles each event of a source once, inside its request, on any key store.
 *
 *   const hooks = inline(stripe({ secret }), async (event, { step }) => …, { store: redisKeys({ url }) })
 *   createServer(hooks.node).listen(3000)
 */
export function inline<Payload, Subject, Type extends string>(
  source: Source<Payload, Subject, Type>,
  handler: InlineHandler<Event<Payload, Subject, Type>>,
  options: InlineOptions,
): Inline {
  return inlineAs('inline()', { source, handler: handler as InlineHandler, options, tell: () => undefined })
}

export interface InlineParts {
  readonly source: Source
  readonly handler: InlineHandler
  readonly options: InlineOptions
  readonly tell: (fact: InlineFact) => void
}

/** `where` names it in what is said of its options. */
export function inlineAs(where: string, { source, handler, options, tell }: InlineParts): Inline {
  if (typeof handler !== 'function')
    throw new HookonceError('CONFIG_INVALID', `${where}: the handler must be a function`)
  if (source.split && source.alwaysBatches !== false)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where}: ${source.provider} sends many events in one request, and one reply cannot be kept for each: receive it with hookonce()`,
    )
  if (source.stampHeader && source.needsStamp !== false)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where}: nothing that ${source.provider} sends tells a repeated delivery from a new one, so no handler can run once`,
    )
  const receiver = inlineReceiver({
    ...checkInlineOptions(options, source, where),
    source,
    tell,
    async handle(event, context) {
      const returned = await handler(event, context)
      return returned instanceof Response ? replyOf(returned) : undefined
    },
  })
  return {
    node: (request, response) => receiveNode(receiver, request, response),
    fetch: (request) => receiveFetch(receiver, request),
  }
}

async function receiveNode(
  receiver: InlineReceiver,
  given: NodeRequest,
  response: NodeResponse,
): Promise<void> {
  const request = rawRequest(given)
  const answering = rawResponse(response)
  const head: Head = {
    method: request.method ?? '',
    // A router may have cut it.
    url: (request as { originalUrl?: string }).originalUrl ?? request.url ?? '',
    headerPairs: request.rawHeaders,
    header: headerIn(request.headers),
  }
  const reply = await answer(receiver, head, (limits) => readSignedBody(given, limits))
  // What is left of the request is not read, so the connection cannot be used again.
  await send(answering, request.complete ? reply : withHeaders(reply, { connection: 'close' }))
}

async function send(response: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  response.statusCode = status
  for (const [name, values] of grouped(headers)) response.setHeader(name, values)
  await sendBody(response, body)
}

async function receiveFetch(receiver: InlineReceiver, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const head: Head = {
    method: request.method,
    url: `${url.pathname}${url.search}`,
    headerPairs: [...request.headers].flat(),
    header: (name) => request.headers.get(name) ?? undefined,
  }
  return responseOf(await answer(receiver, head, (limits) => readFetchBody(request, limits)))
}

type ReadBody = (limits: BodyLimits) => Promise<Uint8Array>

/**
 * Anyone can send a body: until its signature is verified, it may cost a bounded time and its share
 * of bounded bytes.
 */
async function answer(receiver: InlineReceiver, head: Head, read: ReadBody): Promise<Reply> {
  const refused = receiver.admit(head)
  if (refused) return refused
  const share = receiver.held.share()
  try {
    return await receiver.receive(head, await read({ ...receiver.limits, mayHold: share.mayHold }))
  } catch (error) {
    if (!(error instanceof HookonceError) || !OF_BODIES.has(error.code)) throw error
    return receiver.refuse(error.code, detailOf(error))
  } finally {
    share.letGo()
  }
}
