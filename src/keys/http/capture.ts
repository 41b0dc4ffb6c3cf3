import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { finished, type Readable } from 'node:stream'
import { ChunkQueue, type Done } from './chunk-queue.ts'
import { EXPOSED, grouped, isEvents, type Reply, toHeader, withExposedBefore } from './message.ts'
import { drain } from './read-to-end.ts'
import { sendBody } from './send-body.ts'

/*
 * Captures everything that a handler writes to its ServerResponse as a Reply, and later sends a
 * Reply on the real response. Until then nothing reaches the client: replies are stored first, then
 * sent. Works for every framework that writes to a ServerResponse, such as Express, Koa and
 * Fastify. docs/design/capturing-replies.md explains the whole flow.
 */
export interface Capture {
  /** Resolves when the handler ends the response, or begins to stream it. */
  readonly reply: Promise<Reply>
  /** Reports that the handler failed before its reply was complete. */
  fail(error: unknown): void
  /** Restores the response, so that the framework can answer with it. */
  release(): void
  /** Sends a reply on the real response: the captured one, or another one in its place. */
  send(reply: Reply): Promise<void>
}

type Chunk = Uint8Array | string

/** The state that a captured response shows to its handler. */
interface VisibleState {
  begun: boolean
  ended: boolean
  /** True once the response shows its real state again. */
  isReleased: boolean
  /** The outer capture, if two middlewares capture the same response. */
  readonly outer: VisibleState | undefined
}

const VISIBLE_STATE = Symbol('visible state of a captured response')

/*
 * One shared accessor for all responses, and it is never deleted. An accessor per response, or a
 * deleted one, would give every response its own hidden class and slow down all of node:http.
 */
const visibleProperty = (
  property: 'headersSent' | 'writableEnded',
  as: 'begun' | 'ended',
): PropertyDescriptor => ({
  configurable: true,
  get(this: ServerResponse & { [VISIBLE_STATE]?: VisibleState }): boolean {
    let visible = this[VISIBLE_STATE]
    while (visible?.isReleased) visible = visible.outer
    return visible ? visible[as] : Reflect.get(Object.getPrototypeOf(this), property, this)
  },
})
const plainOn = EventEmitter.prototype.on as ServerResponse['on']
const VISIBLE_HEADERS_SENT = visibleProperty('headersSent', 'begun')
const VISIBLE_WRITABLE_ENDED = visibleProperty('writableEnded', 'ended')

export function capture(captured: ServerResponse): Capture {
  const response: ServerResponse & { [VISIBLE_STATE]?: VisibleState } = captured
  const { writeHead, write, end, flushHeaders, emit, destroy, on, addListener } = response
  const before = response.getHeaders()
  const visible: VisibleState = {
    begun: false,
    ended: false,
    isReleased: false,
    outer: response[VISIBLE_STATE],
  }
  let queue: ChunkQueue | undefined
  let closed = false
  let hiddenSocket: ServerResponse['socket'] = null
  let resolveReply: (reply: Reply) => void
  let rejectReply: (error: unknown) => void
  const reply = new Promise<Reply>((resolve, reject) => {
    resolveReply = resolve
    rejectReply = reject
  })
  // The reply may be rejected when no code is waiting for it.
  reply.catch(() => undefined)

  function bodyQueue(): ChunkQueue {
    queue ??= new ChunkQueue(() => emit.call(response, 'drain'))
    return queue
  }
  function begin(body: Reply['body']): void {
    if (visible.begun) return
    // Middleware that adds headers at the last moment has replaced writeHead. Call it now.
    if (response.writeHead !== ownWriteHead) response.writeHead(response.statusCode)
    visible.begun = true
    resolveReply({ status: response.statusCode, headers: pairsOf(response.getHeaders()), body })
  }
  function fail(error: unknown): void {
    rejectReply(error)
    queue?.break(error)
  }
  /**
   * A source stream that breaks off never ends the response. Without this, the reply would never
   * settle.
   */
  function watch(source: Readable): void {
    finished(source, { writable: false }, (error) => error && fail(error))
  }
  /**
   * Restores the head. Headers that the handler set for a reply that is not sent must not leak into
   * the reply that is.
   */
  function releaseHead(headers: Reply['headers']): void {
    response.writeHead = writeHead
    response.flushHeaders = flushHeaders
    setOnly(response, before, headers)
  }
  /**
   * If the handler is still writing, its writes keep going into the queue, whatever is sent
   * meanwhile.
   */
  function releaseBody(): void {
    if (visible.begun && !visible.ended) return
    response.write = write
    response.end = end
    response.destroy = destroy
    response.on = on
    response.addListener = addListener
    visible.isReleased = true
  }
  /** Pipelines and file streams check whether their client is still connected, and would stop. */
  function hideClose(): void {
    hiddenSocket = response.socket
    Object.assign(response, { destroyed: false, _closed: false, socket: null })
    // The client did not hang up, so the handler destroyed the connection. It can no longer finish
    // its reply.
    const isOurs = hiddenSocket !== null && !hiddenSocket.errored && !hiddenSocket.readableEnded
    if (isOurs && visible.begun && !visible.ended)
      fail(new Error('the connection was destroyed before the reply had ended'))
  }
  function showClose(): void {
    if (hiddenSocket) Object.assign(response, { destroyed: true, _closed: true, socket: hiddenSocket })
    hiddenSocket = null
  }
  function emitHeldClose(): void {
    response.emit = emit
    showClose()
    if (closed) emit.call(response, 'close')
    closed = false
  }

  response[VISIBLE_STATE] = visible
  Object.defineProperty(response, 'headersSent', VISIBLE_HEADERS_SENT)
  Object.defineProperty(response, 'writableEnded', VISIBLE_WRITABLE_ENDED)
  const ownWriteHead: ServerResponse['writeHead'] = (status: number, ...more: unknown[]) => {
    // As in node:http: an error page must not follow a reply that has begun.
    if (visible.begun) throw headersSent()
    response.statusCode = status
    if (typeof more[0] === 'string') response.statusMessage = more[0]
    setAll(response, more.at(-1))
    return response
  }
  response.writeHead = ownWriteHead
  response.write = (chunk: Chunk, ...more: unknown[]) => {
    begin(bodyQueue())
    return bodyQueue().push(bytesOf(chunk, more), doneOf(more))
  }
  response.end = (...args: unknown[]) => {
    const [chunk, ...more] = typeof args[0] === 'function' ? [undefined, ...args] : args
    const last = chunk === undefined || chunk === null ? new Uint8Array() : bytesOf(chunk as Chunk, more)
    const done = doneOf(more)
    if (done) response.once('finish', done)
    visible.ended = true
    if (visible.begun) {
      if (last.length > 0) queue?.push(last)
      queue?.end()
    } else begin(last)
    return response
  }
  response.flushHeaders = () => begin(bodyQueue())
  response.destroy = (error?: Error) => {
    fail(error ?? new Error('the response was destroyed before its end'))
    return response
  }
  // Compression middleware redirects `drain` to its own stream. Listeners must get the queue's
  // `drain`.
  response.on = plainOn
  response.addListener = plainOn
  response.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'pipe') watch(args[0] as Readable)
    if (event !== 'close') return emit.call(response, event, ...args)
    // A client that hangs up must not stop a stream that writes to the response.
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
      emitHeldClose()
    },
    async send(answer) {
      showClose()
      releaseHead(answer.headers)
      releaseBody()
      // Event streams may never end, so their handler must be notified at once when the client
      // disconnects.
      if (isEvents(answer)) emitHeldClose()
      if (response.statusCode !== answer.status) response.statusMessage = ''
      response.statusCode = answer.status
      await sendBody(response, answer.body, {
        write: (chunk) => write.call(response, chunk, 'utf8'),
        end: (chunk) => void end.call(response, chunk, 'latin1'),
        destroy: (error) => void destroy.call(response, error),
        onDrain: (listener) => void on.call(response, 'drain', listener),
      })
      if (visible.begun && !visible.ended) void drain(bodyQueue())
      releaseBody()
      emitHeldClose()
    },
  }
}

function headersSent(): Error {
  return Object.assign(new Error('Cannot write headers after they are sent to the client'), {
    code: 'ERR_HTTP_HEADERS_SENT',
  })
}

/**
 * Sets exactly these headers. Usually most are already set, because the captured reply is the one
 * that is sent.
 */
function setOnly(response: ServerResponse, before: OutgoingHttpHeaders, headers: Reply['headers']): void {
  const wanted = withExposedBefore(grouped(headers), before[EXPOSED])
  for (const name in before) {
    const value = before[name]
    if (value !== undefined && !wanted.has(name)) wanted.set(name, toHeader(value))
  }
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

/** writeHead accepts lists of pairs, and flat lists that alternate names and values. */
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
