import { createServer, type IncomingHttpHeaders } from 'node:http'
import { onTestFinished } from 'vitest'
import type { Destination } from '../../src/forward/destination.ts'
import { type GatewayDeps, gatewayHooks } from '../../src/gateway/hooks.ts'
import type { Hookonce, Options } from '../../src/index.ts'
import type { SigningSource } from '../../src/sources/index.ts'
import type { TestDatabase } from './database.ts'
import { listening } from './listening-server.ts'
import { manyLedgers } from './many-ledgers.ts'
import { silent } from './receiver.ts'
import { testSource } from './source.ts'
import { until } from './until.ts'

/* Forwarding inside this process, with destinations whose answers a test sets. */

export const FORWARD_SECRET = `whsec_${Buffer.from('a secret that signs what is forwarded').toString('base64')}`

export interface Got {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Says {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A destination that gives these answers in turn, then always 204. */
export async function destination(...answers: Says[]): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    got.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: Buffer.concat(chunks),
    })
    const { status, headers, body } = answers.shift() ?? { status: 204 }
    response.writeHead(status, headers).end(body)
  })
  return { url: `${await listening(server)}/hooks?app=1`, got }
}

export interface ForwardingOptions extends Partial<Omit<Destination, 'url'>>, GatewayDeps {
  readonly source?: SigningSource
  readonly options?: Partial<Omit<Options, 'sources'>>
}

export interface ForwardingGateway {
  readonly hooks: Hookonce<Record<string, SigningSource>>
  /** Sends a delivery. Returns the receipt's id. */
  post(init: RequestInit): Promise<string>
}

/** A gateway with one source and one destination. */
export async function forwarding(
  db: TestDatabase,
  url: string,
  { source = testSource(), options, resolve, ...own }: ForwardingOptions = {},
): Promise<ForwardingGateway> {
  const given = {
    name: 'app',
    url,
    secret: FORWARD_SECRET,
    types: '*',
    headers: ['x-provider-*'],
    allowPrivate: ['127.0.0.1'],
    retry: { baseDelayMs: 20, maxDelayMs: 50 },
    ...own,
  }
  const hooks = gatewayHooks(
    { sources: { test: source }, destinations: [given] },
    { database: db.url, logger: silent, pollMs: 20, ...manyLedgers(db, { test: source }), ...options },
    resolve ? { resolve } : {},
  )
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  await hooks.start()
  return {
    hooks: hooks as Hookonce<Record<string, SigningSource>>,
    async post(init) {
      const answer = await hooks.fetch(new Request('http://localhost/in/test', init))
      return ((await answer.json()) as { receipt: string }).receipt
    },
  }
}

export function jobs(db: TestDatabase): Promise<Record<string, unknown>[]> {
  return db.rows('select state, attempt, reason from hookonce.job')
}

export function inState(db: TestDatabase, state: string, count = 1): Promise<unknown> {
  return until(
    `${count} jobs are ${state}`,
    async () =>
      (await db.number('select count(*) from hookonce.job where state::text = $1', [state])) >= count,
  )
}
