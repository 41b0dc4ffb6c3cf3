import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { finished, type Readable } from 'node:stream'
import { ChunkQueue, type Done } from './chunk-queue.ts'
import { grouped, isEvents, type Reply } from './message.ts'
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

export function capture(response: ServerResponse): Capture {
  const { writeHead, write, end, flushHeaders, emit, destroy, on, addListener } = response
  const before = response.getHeaders()
  const queue = new ChunkQueue(() => emit.call(response, 'drain'))
  let begun = false
  let ended = false
  let closed = false
  let resolveReply: (reply: Reply) => void
  let rejectReply: (error: unknown) => void
  const reply = new Promise<Reply>((resolve, reject) => {
    resolveReply = resolve
    rejectReply = reject
  })
  // It may fail while nobody waits for it yet, or any more.
  reply.catch(() => undefined)

  function begin(body: Reply['body']): void {
    if (begun) return
    begun = true
    resolveReply({ status: response.statusCode, headers: pairsOf(response.getHeaders()), body })
  }
  function fail(error: unknown): void {
    rejectReply(error)
    queue.break(error)
  }
  /** A source that breaks off never ends the response: without this, its reply would be awaited forever. */
  function watch(source: Readable): void {
    finished(source, { writable: false }, (error) => error && fail(error))
  }
  /** The head is its own again, as it was before the handler. */
  function releaseHead(): void {
    Object.assign(response, { writeHead, flushHeaders })
    // What a handler set whose reply is not sent must not go out with another.
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    setAll(response, before)
  }
  /** A handler that has begun to write and not ended goes on to write into the queue, whatever is sent meanwhile. */
  function releaseBody(): void {
    if (begun && !ended) return
    Object.assign(response, { write, end, destroy, on, addListener })
    Reflect.deleteProperty(response, 'headersSent')
    Reflect.deleteProperty(response, 'writableEnded')
    response.off('pipe', watch)
  }
  function tellOfClose(): void {
    response.emit = emit
    if (closed) emit.call(response, 'close')
    closed = false
  }

  Object.defineProperty(response, 'headersSent', { configurable: true, get: () => begun })
  Object.defineProperty(response, 'writableEnded', { configurable: true, get: () => ended })
  response.on('pipe', watch)
  Object.assign(response, {
    writeHead(status: number, ...more: unknown[]) {
      response.statusCode = status
      if (typeof more[0] === 'string') response.statusMessage = more[0]
      setAll(response, more.at(-1))
      return response
    },
    write(chunk: Chunk, ...more: unknown[]) {
      begin(queue)
      return queue.push(bytesOf(chunk, more), doneOf(more))
    },
    end(...args: unknown[]) {
      const [chunk, ...more] = typeof args[0] === 'function' ? [undefined, ...args] : args
      const last = chunk === undefined || chunk === null ? new Uint8Array() : bytesOf(chunk as Chunk, more)
      const done = doneOf(more)
      if (done) response.once('finish', done)
      ended = true
      if (begun) {
        if (last.length > 0) queue.push(last)
        queue.end()
      } else begin(last)
      return response
    },
    flushHeaders: () => begin(queue),
    destroy(error?: Error) {
      fail(error ?? new Error('the response was destroyed before its end'))
      return response
    },
    // Compression takes `drain` for that of its own stream; who writes into the queue waits for that of the queue.
    on: EventEmitter.prototype.on,
    addListener: EventEmitter.prototype.on,
    // A client that hangs up must not stop what streams into the response.
    emit(event: string, ...args: unknown[]) {
      if (event === 'close') {
        closed = true
        return true
      }
      return emit.call(response, event, ...args)
    },
  })

  return {
    reply,
    fail,
    release() {
      releaseHead()
      releaseBody()
      tellOfClose()
    },
    async send(answer) {
      releaseHead()
      releaseBody()
      // Events may have no end: their handler must hear at once that nobody listens any more.
      if (isEvents(answer)) tellOfClose()
      if (response.statusCode !== answer.status) response.statusMessage = ''
      response.statusCode = answer.status
      for (const [name, values] of grouped(answer.headers)) response.setHeader(name, values)
      await sendBody(response, answer.body, {
        write: (chunk) => write.call(response, chunk, 'utf8'),
        end: (chunk) => void end.call(response, chunk, 'utf8'),
        destroy: (error) => void destroy.call(response, error),
        onDrain: (listener) => void on.call(response, 'drain', listener),
      })
      if (begun && !ended) void drain(queue)
      releaseBody()
      tellOfClose()
    },
  }
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
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
}
