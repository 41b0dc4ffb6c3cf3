import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { Readable } from 'node:stream'
import type { KeyEvent, KeysOptions, RunContext } from '../../../src/keys/index.ts'

/** The behaviour of a test's handler, independent of frameworks. */
export type Behaviour = (asked: {
  readonly body: unknown
  readonly context: RunContext
}) => Answer | Promise<Answer>

export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Objects are sent as the framework's JSON. */
  readonly body: object | Buffer | Readable
}

export interface Setup {
  readonly keys: Omit<KeysOptions<object>, 'observe'> & { readonly observe: (event: KeyEvent) => void }
  readonly behaviour: Behaviour
  /** The framework's own compression, mounted outside the keys. */
  readonly compression: 'on' | 'off'
  /** Whether the framework's own body parser comes before the keys or after them. */
  readonly parser: 'before' | 'after'
}

/** An app of a framework with `POST /api/orders` behind keys, and its own error handler. */
export interface RunningApp {
  /** The URL at which it listens. */
  readonly url: string
  readonly server: Server
  close(): Promise<unknown>
}

/** For a framework that leaves listening to Node. */
export async function running(server: HttpServer): Promise<RunningApp> {
  await once(server, 'listening')
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Thrown by a behaviour: the error handler of each app answers with its status and message. */
export class Refused extends Error {
  readonly status: number
  readonly statusCode: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
    this.statusCode = status
  }
}

export function told(error: unknown): { status: number; body: { error: string } } {
  const { status = 500, message } = error as Partial<Refused>
  return { status, body: { error: message ?? 'unknown' } }
}
