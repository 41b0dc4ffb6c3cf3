import type { Readable, Writable } from 'node:stream'

/*
 * JSON-RPC 2.0 over lines: one message per line in each direction, as MCP's stdio transport
 * requires. https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
 */

type Id = string | number

/** A failure of a method that has a number in JSON-RPC. */
export class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const INVALID_PARAMS = -32_602
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const METHOD_UNKNOWN = -32_601
const INTERNAL_ERROR = -32_603
/** The first of the numbers that a server may define itself. */
const BUSY = -32_000

export type RpcMethods = Readonly<Record<string, (params: unknown, signal: AbortSignal) => Promise<unknown>>>

/** A request to a gateway is short. A client that sends a longer line is broken. */
const MAX_LINE_BYTES = 1024 * 1024
/** An agent makes a few calls at a time. Each is a request to the gateway. */
const MAX_IN_PROGRESS = 16

/** Answers until the input ends or `stop` is aborted. Calls in progress are then aborted. */
export async function serveRpc(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  methods: RpcMethods,
  stop: AbortSignal,
): Promise<void> {
  const inProgress = new Map<Id, AbortController>()
  const send = (message: object): void => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  const fail = (id: Id | null, code: number, message: string): void => send({ id, error: { code, message } })

  async function answer(id: Id, method: string, params: unknown): Promise<void> {
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!run) return fail(id, METHOD_UNKNOWN, `there is no method "${method}"`)
    if (inProgress.has(id)) return fail(id, INVALID_REQUEST, `the id ${JSON.stringify(id)} is in use`)
    if (inProgress.size >= MAX_IN_PROGRESS)
      return fail(id, BUSY, `${MAX_IN_PROGRESS} calls are in progress: send this one again later`)
    const aborting = new AbortController()
    inProgress.set(id, aborting)
    try {
      const result = await run(params, AbortSignal.any([aborting.signal, stop]))
      // A cancelled call gets no response.
      if (!aborting.signal.aborted) send({ id, result })
    } catch (error) {
      if (aborting.signal.aborted) return
      const code = error instanceof RpcError ? error.code : INTERNAL_ERROR
      fail(id, code, error instanceof Error ? error.message : String(error))
    } finally {
      inProgress.delete(id)
    }
  }

  function notified(method: string, params: unknown): void {
    if (method !== 'notifications/cancelled') return
    const { requestId } = asRecord(params)
    if (typeof requestId === 'string' || typeof requestId === 'number') inProgress.get(requestId)?.abort()
  }

  function handle(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      return fail(null, PARSE_ERROR, 'the line is not JSON')
    }
    const { id, method, params } = asRecord(message)
    const isAnswerable = typeof id === 'string' || typeof id === 'number'
    if (typeof method !== 'string') {
      // A response needs no answer: this server sends no requests to the client.
      const isResponse = isAnswerable && method === undefined
      return isResponse ? undefined : fail(null, INVALID_REQUEST, 'the message has no method')
    }
    if (isAnswerable) void answer(id, method, params)
    else notified(method, params)
  }

  try {
    for await (const line of boundedLines(input, stop)) {
      if (line === TOO_LONG) fail(null, INVALID_REQUEST, `a line has more than ${MAX_LINE_BYTES} bytes`)
      else if (line.trim() !== '') handle(line)
    }
  } finally {
    for (const aborting of inProgress.values()) aborting.abort()
  }
}

const TOO_LONG = Symbol('a line that is too long')

/** The lines of a stream. Holds at most one line of the longest allowed length. */
async function* boundedLines(input: Readable, stop: AbortSignal): AsyncGenerator<string | typeof TOO_LONG> {
  let held: Buffer[] = []
  let heldBytes = 0
  const end = (): void => void input.destroy()
  stop.addEventListener('abort', end, { once: true })
  try {
    for await (const chunk of input) {
      let rest = Buffer.from(chunk)
      for (;;) {
        const newline = rest.indexOf(10)
        const part = newline === -1 ? rest : rest.subarray(0, newline)
        heldBytes += part.length
        if (heldBytes <= MAX_LINE_BYTES) held.push(part)
        else held = []
        if (newline === -1) break
        yield heldBytes > MAX_LINE_BYTES ? TOO_LONG : Buffer.concat(held).toString('utf8')
        held = []
        heldBytes = 0
        rest = rest.subarray(newline + 1)
      }
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    stop.removeEventListener('abort', end)
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}
