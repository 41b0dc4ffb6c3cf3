import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Reply } from './message.ts'

/*
 * Turns what a handler does to its ServerResponse into a Reply, and sends one. In between nothing reaches the client:
 * replies are kept first, then sent. It works for everything that writes to a ServerResponse, Express among them.
 */
export interface Capture {
  /** As soon as the handler has ended the response, or has begun to stream it. */
  readonly reply: Promise<Reply>
  /** The handler failed before that. */
  fail(error: unknown): void
  /** Sends a reply instead of what was captured, which may be the same. */
  send(reply: Reply): Promise<void>
}

type Chunk = Uint8Array | string
type Done = (error?: Error | null) => void

/** What a stream may write ahead of who reads it. */
const HIGH_WATER_BYTES = 64 * 1024

export function capture(response: ServerResponse): Capture {
  const { writeHead, write, end, flushHeaders, emit } = response
  const before = response.getHeaders()
  const queue = new ChunkQueue(() => emit.call(response, 'drain'))
  let begun = false
  let closed = false
  let resolveReply: (reply: Reply) => void
  let rejectReply: (error: unknown) => void
  const reply = new Promise<Reply>((resolve, reject) => {
    resolveReply = resolve
    rejectReply = reject
  })

  function begin(body: Reply['body']): void {
    if (begun) return
    begun = true
    resolveReply({ status: response.statusCode, headers: pairsOf(response.getHeaders()), body })
  }
  function release(): void {
    Object.assign(response, { writeHead, write, end, flushHeaders, emit })
    Reflect.deleteProperty(response, 'headersSent')
  }

  Object.defineProperty(response, 'headersSent', { configurable: true, get: () => begun })
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
      if (begun) {
        if (last.length > 0) queue.push(last)
        queue.end()
      } else begin(last)
      return response
    },
    flushHeaders: () => begin(queue),
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
    fail: (error) => rejectReply(error),
    async send(answer) {
      release()
      // What a handler set whose reply is not sent must not go out with another.
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      setAll(response, before)
      if (response.statusCode !== answer.status) response.statusMessage = ''
      response.statusCode = answer.status
      for (const [name, values] of grouped(answer.headers)) response.setHeader(name, values)
      if (closed) emit.call(response, 'close')
      await sendBody(response, answer.body)
    },
  }
}

async function sendBody(response: ServerResponse, body: Reply['body']): Promise<void> {
  if (body instanceof Uint8Array) {
    const mayHaveLength = response.statusCode !== 204 && response.statusCode !== 304
    if (mayHaveLength && !response.hasHeader('transfer-encoding'))
      response.setHeader('content-length', body.length)
    response.end(body)
    return
  }
  response.flushHeaders()
  for await (const chunk of body) {
    // To the end also when nobody listens any more: the handler is still writing.
    if (response.destroyed) continue
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

/** What was written and not yet read. */
class ChunkQueue implements AsyncIterable<Uint8Array> {
  readonly #chunks: { bytes: Uint8Array; done: Done | undefined }[] = []
  readonly #onDrain: () => void
  #size = 0
  #ended = false
  #full = false
  #wake: (() => void) | undefined

  constructor(onDrain: () => void) {
    this.#onDrain = onDrain
  }

  push(bytes: Uint8Array, done?: Done): boolean {
    this.#chunks.push({ bytes, done })
    this.#size += bytes.length
    this.#full = this.#size >= HIGH_WATER_BYTES
    this.#wake?.()
    return !this.#full
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#chunks.shift()
      if (next) {
        this.#size -= next.bytes.length
        yield next.bytes
        next.done?.()
        if (this.#full && this.#size < HIGH_WATER_BYTES) {
          this.#full = false
          this.#onDrain()
        }
      } else if (this.#ended) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
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

function grouped(pairs: Iterable<readonly [string, unknown]>): Map<string, string | string[]> {
  const groups = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const known = groups.get(name)
    const values = [known ?? [], Array.isArray(value) ? value.map(String) : String(value)].flat()
    const [only = ''] = values
    groups.set(name, values.length === 1 ? only : values)
  }
  return groups
}
