import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { HookonceError } from '../../model/errors.ts'
import { parseJsonText } from '../../sources/schemes/payload.ts'
import { type Alias, aliased, type Change, leaves } from '../changes.ts'
import type { Boundaries } from './boundaries.ts'

/** A call that the recording server received and answered. */
interface Call {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly key: string | undefined
}

/** Replaces the services that the receiver calls. It records every call and answers 200. */
export interface CallRecorder {
  /** Forgets the previous calls. */
  begin(): void
  changes(aliases: readonly Alias[]): Change[]
  /** Delays every reply by this time. */
  delay(ms: number): void
  close(): void
}

/** The rest of a larger body is neither kept nor compared. */
const MAX_BODY_BYTES = 1_000_000
/** A receiver with more calls in one schedule is in a loop. */
const MAX_CALLS = 2_000

export async function recordCalls(port: number, boundaries: Boundaries): Promise<CallRecorder> {
  let calls: Call[] = []
  let delayMs = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const { method = 'GET', url: path = '/' } = request
    const key = request.headers['idempotency-key']
    const label = `call ${method} ${pathName(path)}`
    if ((await boundaries.before(label)) === 'killed') return void request.socket.destroy()
    if (calls.length < MAX_CALLS)
      calls.push({ method, path, body, key: key === undefined ? key : String(key) })
    if ((await boundaries.after(label)) === 'killed') return void request.socket.destroy()
    if (delayMs > 0) await sleep(delayMs)
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: `call_${calls.length}` }))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const fault = `--downstream: port ${port} cannot be used: ${error.message}; pass a free port`
      reject(new HookonceError('CONFIG_INVALID', fault, { cause: error }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    begin() {
      calls = []
      delayMs = 0
    },
    changes: (aliases) => calls.map((call) => changeOf(call, aliases)),
    delay(ms) {
      delayMs = ms
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Ids in the path differ between events, so each call would have a new name. */
function pathName(path: string): string {
  return path.replace(/\?.*/, '').replaceAll(/[^/]*\d{4,}[^/]*/g, '…')
}

function changeOf({ method, path, body, key }: Call, aliases: readonly Alias[]): Change {
  const payload = parseJsonText(body)
  const found = payload === undefined ? (body === '' ? [] : [['body', body] as const]) : leaves(payload)
  return {
    where: `${method} ${aliased(path, aliases)}`,
    kind: 'called',
    fields: Object.fromEntries(found.map(([name, value]) => [name, aliased(value, aliases)])),
    key,
  }
}
