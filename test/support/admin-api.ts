import { expect } from 'vitest'
import { type RunningCli, startCli } from './cli.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { configFile, configTo, destination, ENV, serveArgs } from './gateway.ts'

/* The admin API of a gateway that `hookonce serve` runs. */

export const ADMIN_TOKEN = 'the-admin-token-of-these-tests'

export interface AdminApi {
  readonly db: TestDatabase
  readonly gateway: RunningCli
  readonly port: number
  readonly adminPort: number
  readonly base: string
  /** A request with the admin token, unless `token` is another token. `null`: without a token. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>
  get(path: string, options?: CallOptions): Promise<ApiAnswer>
  post(path: string, body: unknown, options?: CallOptions): Promise<ApiAnswer>
  /** Creates a token. */
  token(fields: Record<string, unknown>): Promise<string>
}

interface CallOptions {
  readonly token?: string | null
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test names what it expects.
  readonly json: any
}

export interface AdminApiOptions {
  readonly db?: TestDatabase
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  readonly config?: object
}

export async function adminApi(options: AdminApiOptions = {}): Promise<AdminApi> {
  const db = options.db ?? (await freshDatabase())
  const config = options.config ?? configTo((await destination()).url)
  const env = { ...ENV, DATABASE_URL: db.url, HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN, ...options.env }
  const gateway = startCli(serveArgs(configFile(config), ...(options.args ?? [])), env)
  const { port, adminPort } = await gateway.line<{ port: number; adminPort: number }>('adminPort')
  const base = `http://127.0.0.1:${adminPort}/api/v1`

  async function call(
    method: string,
    path: string,
    { token = ADMIN_TOKEN, headers, body }: CallOptions = {},
  ) {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    }
  }

  return {
    db,
    gateway,
    port,
    adminPort,
    base,
    call,
    get: (path, more) => call('GET', path, more),
    post: (path, body, more) => call('POST', path, { ...more, body }),
    async token(fields) {
      const made = await call('POST', '/tokens', { body: { why: 'a test', ...fields } })
      expect(made).toMatchObject({ status: 201 })
      return made.json.token
    },
  }
}

/** Asserts a problem document with this code. */
export function expectProblem(answer: ApiAnswer, status: number, code: string): void {
  expect({
    status: answer.status,
    type: answer.headers.get('content-type'),
    body: answer.json,
  }).toMatchObject({
    status,
    type: 'application/problem+json',
    body: { status, code, type: `urn:hookonce:error:${code}` },
  })
  expect(answer.json.detail).toEqual(expect.any(String))
}
