import type { IncomingMessage, ServerResponse } from 'node:http'
import { bufferedDoor } from '../delivery/buffered.ts'
import type { Doors } from '../delivery/doors.ts'
import { fetchDoor } from '../delivery/fetch.ts'
import { disconnectLater, isUnread, nodeDoor } from '../delivery/node.ts'
import type { Receiver } from '../delivery/receiver.ts'
import type { NodeRequest, NodeResponse } from '../http/framework-request.ts'
import { replyOf, responseOf } from '../keys/http/fetch.ts'
import { grouped, type Reply, withHeaders } from '../keys/http/message.ts'
import { sendBody } from '../keys/http/send-body.ts'
import type { RunContext } from '../keys/run.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { Mounts } from '../mounts/contract.ts'
import { mounts } from '../mounts/mounts.ts'
import type { Source } from '../sources/contract.ts'
import type { EventOf } from '../sources/typed-events.ts'
import { unknownTypes } from '../sources/unknown-types.ts'
import { checkInlineOptions, type InlineOptions } from './options.ts'
import { inlineReceiver } from './receive.ts'
import { type InlineReports, standaloneReports } from './reports.ts'

/**
 * The handler of an inline source. If it returns a Response, that is the answer. Any other value is
 * answered as the provider expects, by default with 200. If it throws, the answer is 500.
 */
export type InlineHandler<HandledEvent = Event> = (event: HandledEvent, context: RunContext) => unknown

/** One receiver, for `node:http`, for the fetch standard, and mounted in any framework. */
export interface Inline extends Mounts {
  /**
   * For node:http, Express, Fastify and similar frameworks. Mount it before any body parser, or
   * after a parser that keeps the bytes.
   */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>
  /** For frameworks that use the fetch standard. */
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Handles each event of a source once, inside its request, on any key store.
 *
 * ```ts
 * const store = redisKeys({ url })
 * const hooks = inline(stripe({ secret }), async (event, { step }) => …, { store })
 * createServer(hooks.node).listen(3000)
 * ```
 */
export function inline<S extends Source>(
  source: S,
  handler: InlineHandler<EventOf<S>>,
  options: InlineOptions,
): Inline {
  return mountedInline(inlineDoors('inline()', { source, handler: handler as InlineHandler, options }))
}

/** An inline receiver has one source, under any path. */
export function mountedInline(doors: Doors): Inline {
  return {
    ...mounts(doors),
    node: (request, response) => doors.node(request, response),
    fetch: (request) => doors.fetch(request),
  }
}

export interface InlineParts {
  readonly source: Source
  readonly handler: InlineHandler
  readonly options: InlineOptions
  /** The default observer logs process warnings. */
  readonly reports?: InlineReports
  /** Wraps the receiver, to open spans. */
  readonly wrap?: (receiver: Receiver<Reply>) => Receiver<Reply>
}

/** `where` names the called function in errors about its options. */
export function inlineDoors(where: string, { source, handler, options, ...given }: InlineParts): Doors {
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
      `${where}: deliveries of ${source.provider} have no event key, so a handler cannot run once per event; receive them with hookonce()`,
    )
  const checked = checkInlineOptions(options, source, where)
  const { name } = checked
  const { reports = standaloneReports({ name, source }), wrap = (receiver) => receiver } = given
  for (const warning of unknownTypes(source, checked.types, `${where}: types`))
    reports.observer.warning?.(warning)
  const receiver = wrap(
    inlineReceiver({
      ...checked,
      source,
      reports,
      async handle(event, context) {
        const returned = await handler(event, context)
        return returned instanceof Response ? replyOf(returned) : undefined
      },
    }),
  )
  return {
    node: (request, response) => receiveNode(receiver, name, request, response),
    fetch: (request) => receiveFetch(receiver, name, request),
    buffered: (request) => receiveBuffered(receiver, name, request),
  }
}

const receiveNode = nodeDoor(send)
const receiveFetch = fetchDoor(responseOf)
const receiveBuffered = bufferedDoor(responseOf)

async function send(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
  const wasUnread = isUnread(request)
  // The rest of the request is not read, so the connection cannot be used again.
  const { status, headers, body } = wasUnread ? withHeaders(reply, { connection: 'close' }) : reply
  response.statusCode = status
  for (const [name, values] of grouped(headers)) response.setHeader(name, values)
  await sendBody(response, body)
  if (wasUnread) disconnectLater(request)
}
