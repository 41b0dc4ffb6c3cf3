import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  type Handler,
  type Hookonce,
  hookonce,
  type Logger,
  type Options,
  type Sources,
} from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { manyLedgers } from './many-ledgers.ts'
import { signed, type TestPayload, testSource } from './source.ts'

/** A receiver inside the test's process. */
export interface Receiver {
  readonly hooks: Hookonce<Sources>
  /** Delivers a signed event to the source `test`. */
  send(payload: TestPayload | string): Promise<Response>
  /** Delivers any request. */
  post(init: RequestInit, path?: string): Promise<Response>
  /** A clean stop. All pending counts are in the ledger afterwards. */
  stop(): Promise<void>
  /** The same receiver behind node:http. Returns the URL of its root. */
  listen(): Promise<string>
}

export interface ReceiverOptions {
  readonly sources?: Sources
  /** The types of each source's subscriber. `none`: no subscriber. */
  readonly types?: string
  readonly handler?: Handler
  readonly options?: Omit<Options, 'sources' | 'database'>
}

export const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

export function receiving(
  db: Pick<TestDatabase, 'url'>,
  { sources = { test: testSource() }, types = '*', handler = () => undefined, options }: ReceiverOptions = {},
): Receiver {
  const hooks = hookonce<Sources>({
    database: db.url,
    logger: silent,
    ...manyLedgers(db, sources),
    ...options,
    sources,
  })
  if (types !== 'none') for (const name of Object.keys(sources)) hooks.on(name, types, handler)
  const stop = (): Promise<void> => hooks.stop({ drainMs: 0 })
  onTestFinished(stop)
  const post = (init: RequestInit, path = '/in/test'): Promise<Response> =>
    hooks.fetch(new Request(`http://localhost${path}`, init))
  return {
    hooks,
    post,
    send: (payload) => post(signed(payload)),
    stop,
    async listen() {
      const server = createServer(hooks.node())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        server.close()
        server.closeAllConnections()
      })
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
  }
}
