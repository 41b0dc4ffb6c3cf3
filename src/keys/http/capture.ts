import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { finished, type Readable } from 'node:stream'
import { ChunkQueue, type Done } from './chunk-queue.ts'
import { EXPOSED, grouped, isEvents, type Reply, toHeader, withExposedBefore } from './message.ts'
import { sendBody } from './send-body.ts'
import { drain } from './to-the-end.ts'

/*
 * Turns what a handler does to its ServerResponse into a Reply, and sends one. In between nothing reaches the client:
 * replies are kept first, then sent. It works for everything that writes to a ServerResponse: Express, Koa, Fastify.
 */
export interface Capture {
  /** As soon as the handler has ended the response, or has begun to stream it. */
  readonly reply: Promise<Reply>
  /** The handler failed before that. */
  fail(error: unknown): void
  /** Gives the response back as it was, for somebody else to answer with. */
  release(): void
  /** Sends a reply instead of what was captured, which may be the same. */
  send(reply: Reply): Promise<void>
}

type Chunk = Uint8Array | string

/** What a response shows of itself while it is captured. */
interface Shown {
  begun: boolean
  ended: boolean
  /** It shows the truth again. */
  over: boolean
  /** Two may capture the same response, one inside the other. */
  readonly outer: Shown | undefined
}

const SHOWN = Symbol('shown by the capture')

/*
 * One function for all responses, and never taken away again: an accessor of its own for each, or a deleted one, would
 * make every response an object of another shape, and all of node:http slow.
 */
const shows = (property: 'headersSent' | 'writableEnded', as: 'begun' | 'ended'): PropertyDescriptor => ({
  configurable: true,
  get(this: ServerResponse & { [SHOWN]?: Shown }): boolean {
    let shown = this[SHOWN]
    while (shown?.over) shown = shown.outer
    return shown ? shown[as] : Reflect.get(Object.getPrototypeOf(this), property, this)
  },
})
const onAny = EventEmitter.prototype.on as ServerResponse['on']
const SHOWS_HEADERS_SENT = shows('headersSent', 'begun')
const SHOWS_WRITABLE_ENDED = shows('writableEnded', 'ended')

export function capture(captured: ServerResponse): Capture {
  const response: ServerResponse & { [SHOWN]?: Shown } = captured
  const { writeHead, write, end, flushHeaders, emit, destroy, on, addListener } = response
  const before = response.getHeaders()
  const shown: Shown = { begun: false, ended: false, over: false, outer: response[SHOWN] }
  let queue: ChunkQueue | undefined
  let closed = false
  let hidden: ServerResponse['socket'] = null
  let resolveReply: (reply: Reply) => void
  let rejectReply: (error: unknown) => void
  const reply = new Promise<Reply>((resolve, reject) => {
    resolveReply = resolve
    rejectReply = reject
  })
  // It may fail while nobody waits for it yet, or any more.
  reply.catch(() => undefined)

  function streamed(): ChunkQueue {
    queue ??= new ChunkQueue(() => emit.call(response, 'drain'))
    return queue
  }
  function begin(body: Reply['body']): void {
    if (shown.begun) return
    // Who waits for the head, to add to it, has put itself before writeHead.
    if (response.writeHead !== ownWriteHead) response.writeHead(response.statusCode)
    shown.begun = true
    resolveReply({ status: response.statusCode, headers: pairsOf(response.getHeaders()), body })
  }
  function fail(error: unknown): void {
    rejectReply(error)
    queue?.break(error)
  }
  /** A source that breaks off never ends the response: without this, its reply would be awaited forever. */
  function watch(source: Readable): void {
    finished(source, { writable: false }, (error) => error && fail(error))
  }
  /** The head is its own again. What a handler set whose reply is not sent must not go out with another. */
  function releaseHead(headers: Reply['headers']): void {
    response.writeHead = writeHead
    response.flushHeaders = flushHeaders
    setOnly(response, before, headers)
  }
  /** A handler that has begun to write and not ended goes on to write into the queue, whatever is sent meanwhile. */
  function releaseBody(): void {
    if (shown.begun && !shown.ended) return
    response.write = write
    response.end = end
    response.destroy = destroy
    response.on = on
    response.addListener = addListener
    shown.over = true
  }
  /** Pipelines and files look whether their client is still there, and would stop. */
  function hideClose(): void {
    hidden = response.socket
    Object.assign(response, { destroyed: false, _closed: false, socket: null })
    // Not by a client that hung up: who destroys the connection of a reply that it has begun cannot end it any more.
    const isOurs = hidden !== null && !hidden.errored && !hidden.readableEnded
    if (isOurs && shown.begun && !shown.ended)
      fail(new Error('the connection was destroyed before the reply had ended'))
  }
  function showClose(): void {
    if (hidden) Object.assign(response, { destroyed: true, _closed: true, socket: hidden })
    hidden = null
  }
  function tellOfClose(): void {
    response.emit = emit
    showClose()
    if (closed) emit.call(response, 'close')
    closed = false
  }

  response[SHOWN] = shown
  Object.defineProperty(response, 'headersSent', SHOWS_HEADERS_SENT)
  Object.defineProperty(response, 'writableEnded', SHOWS_WRITABLE_ENDED)
  const ownWriteHead: ServerResponse['writeHead'] = (status: number, ...more: unknown[]) => {
    // As node:http does: an error page must not be written behind the beginning of a reply.
    if (shown.begun) throw headersSent()
    response.statusCode = status
    if (typeof more[0] === 'string') response.statusMessage = more[0]
    setAll(response, more.at(-1))
    return response
  }
  response.writeHead = ownWriteHead
  response.write = (chunk: Chunk, ...more: unknown[]) => {
    begin(streamed())
    return streamed().push(bytesOf(chunk, more), doneOf(more))
  }
  response.end = (...args: unknown[]) => {
    const [chunk, ...more] = typeof args[0] === 'function' ? [undefined, ...args] : args
    const last = chunk === undefined || chunk === null ? new Uint8Array() : bytesOf(chunk as Chunk, more)
    const done = doneOf(more)
    if (done) response.once('finish', done)
    shown.ended = true
    if (shown.begun) {
      if (last.length > 0) queue?.push(last)
      queue?.end()
    } else begin(last)
    return response
  }
  response.flushHeaders = () => begin(streamed())
  response.destroy = (error?: Error) => {
    fail(error ?? new Error('the response was destroyed before its end'))
    return response
  }
  // Compression takes `drain` for that of its own stream; who writes into the queue waits for that of the queue.
  response.on = onAny
  response.addListener = onAny
  response.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'pipe') watch(args[0] as Readable)
    if (event !== 'close') return emit.call(response, event, ...args)
    // A client that hangs up must not stop what streams into the response.
    closed = true
    hideClose()
    return true
  }

  return {
    reply,
    fail,
    release() {
      releaseHead([])
      releaseBody()
      tellOfClose()
    },
    async send(answer) {
      showClose()
      releaseHead(answer.headers)
      releaseBody()
      // Events may have no end: their handler must hear at once that nobody listens any more.
      if (isEvents(answer)) tellOfClose()
      if (response.statusCode !== answer.status) response.statusMessage = ''
      response.statusCode = answer.status
      await sendBody(response, answer.body, {
        write: (chunk) => write.call(response, chunk, 'utf8'),
        end: (chunk) => void end.call(response, chunk, 'utf8'),
        destroy: (error) => void destroy.call(response, error),
        onDrain: (listener) => void on.call(response, 'drain', listener),
      })
      if (shown.begun && !shown.ended) void drain(streamed())
      releaseBody()
      tellOfClose()
    },
  }
}

function headersSent(): Error {
  return Object.assign(new Error('Cannot write headers after they are sent to the client'), {
    code: 'ERR_HTTP_HEADERS_SENT',
  })
}

/** These headers and no others. Most are there already: the reply that is sent is mostly the one that was captured. */
function setOnly(response: ServerResponse, before: OutgoingHttpHeaders, headers: Reply['headers']): void {
  const wanted = withExposedBefore(grouped(headers), before[EXPOSED])
  for (const [name, value] of Object.entries(before))
    if (value !== undefined && !wanted.has(name)) wanted.set(name, toHeader(value))
  for (const name of response.getHeaderNames()) if (!wanted.has(name)) response.removeHeader(name)
  for (const [name, value] of wanted) if (response.getHeader(name) !== value) response.setHeader(name, value)
}

function bytesOf(chunk: Chunk, [encoding]: readonly unknown[]): Uint8Array {
  if (typeof chunk !== 'string') return Buffer.from(chunk)
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}

function doneOf(args: readonly unknown[]): Done | undefined {
  return args.find((arg): arg is Done => typeof arg === 'function')
}

function setAll(response: ServerResponse, headers: unknown): void {
  if (typeof headers !== 'object' || headers === null) return
  const pairs = Array.isArray(headers) ? pairwise(headers) : Object.entries(headers)
  for (const [name, values] of grouped(pairs)) response.setHeader(name, values)
}

/** writeHead takes lists of pairs, and flat lists that alternate. */
function pairwise(list: readonly unknown[]): [string, unknown][] {
  const flat = list.flat()
  return Array.from({ length: flat.length / 2 }, (_, at) => [String(flat[2 * at]), flat[2 * at + 1]])
}

function pairsOf(headers: OutgoingHttpHeaders): [string, string][] {
  const pairs: [string, string][] = []
  for (const name in headers) {
    const value = headers[name]
    if (Array.isArray(value)) for (const one of value) pairs.push([name, one])
    else if (value !== undefined) pairs.push([name, String(value)])
  }
  return pairs
}
