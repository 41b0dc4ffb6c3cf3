import type { IncomingMessage, ServerResponse } from 'node:http'
import { fetchDoor } from '../delivery/fetch.ts'
import { disconnectLater, isUnread, nodeDoor } from '../delivery/node.ts'
import type { NodeRequest, NodeResponse } from '../http/framework-request.ts'
import { replyOf, responseOf } from '../keys/http/fetch.ts'
import { grouped, type Reply, withHeaders } from '../keys/http/message.ts'
import { sendBody } from '../keys/http/send-body.ts'
import type { RunContext } from '../keys/run.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Source } from '../sources/contract.ts'
import { checkInlineOptions, type InlineOptions } from './options.ts'
import { inlineReceiver } from './receive.ts'
import { type InlineReports, standaloneReports } from './reports.ts'

/**
 * If it returns a Response, that is the answer. Any other value is answered as the provider
 * expects, by default with 200. If it throws, the answer is 500.
 */
export type InlineHandler<HandledEvent = Event> = (event: HandledEvent, context: RunContext) => unknown

/** Two entry points of one receiver. */
export interface Inline {
  /**
   * For node:http, Express, Fastify and the like: before any body parser, or after one that keeps
   * the bytes.
   */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>
  /** For frameworks that use the fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Handles each event of a source once, inside its request, on any key store.
 *
 * const hooks = inline(stripe({ secret }), async (event, { step }) => …, { store: redisKeys({ url
 * }) }) createServer(hooks.node).listen(3000)
 */
export function inline<Payload, Subject, Type extends string>(
  source: Source<Payload, Subject, Type>,
  handler: InlineHandler<Event<Payload, Subject, Type>>,
  options: InlineOptions,
): Inline {
  return inlineAs('inline()', { source, handler: handler as InlineHandler, options })
}

export interface InlineParts {
  readonly source: Source
  readonly handler: InlineHandler
  readonly options: InlineOptions
  /** The default logs process warnings. */
  readonly reports?: InlineReports
}

/** `where` names the call in errors about its options. */
export function inlineAs(where: string, { source, handler, options, reports }: InlineParts): Inline {
  if (typeof handler !== 'function')
    throw new HookonceError('CONFIG_INVALID', `${where}: the handler must be a function`)
  if (source.split && source.alwaysBatches !== false)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where}: ${source.provider} sends several events in one request, but only one reply can be stored; receive them with hookonce()`,
    )
  if (source.stampHeader && source.needsStamp !== false)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where}: deliveries of ${source.provider} do not show whether they are repeated, so a handler cannot run once per event`,
    )
  const checked = checkInlineOptions(options, source, where)
  const { name } = checked
  const receiver = inlineReceiver({
    ...checked,
    source,
    reports: reports ?? standaloneReports({ name, source }),
    async handle(event, context) {
      const returned = await handler(event, context)
      return returned instanceof Response ? replyOf(returned) : undefined
    },
  })
  return {
    node: (request, response) => receiveNode(receiver, name, request, response),
    fetch: (request) => receiveFetch(receiver, name, request),
  }
}

const receiveNode = nodeDoor(send)
const receiveFetch = fetchDoor(responseOf)

async function send(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
  const wasUnread = isUnread(request)
  // The rest of the request is not read, so the connection cannot be used again.
  const { status, headers, body } = wasUnread ? withHeaders(reply, { connection: 'close' }) : reply
  response.statusCode = status
  for (const [name, values] of grouped(headers)) response.setHeader(name, values)
  await sendBody(response, body)
  if (wasUnread) disconnectLater(request)
}
