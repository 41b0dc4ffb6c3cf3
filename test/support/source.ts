import { custom } from '../../src/sources/index.ts'

/** Must be the same in app.mjs: a sender that signs with an HMAC and names its events in the body. */
export const SECRET = 'secret-of-the-tests'

export function testSource(
  options: { unwanted?: 'ignore' | 'record'; mismatch?: 'keep-first' | 'reject' } = {},
) {
  return custom<TestPayload, TestPayload>({
    provider: 'test',
    secret: SECRET,
    signature: { algorithm: 'hmac-sha256', header: 'test-signature', encoding: 'hex' },
    event: { key: 'json:id', type: 'json:type' },
    ...options,
  })
}

export interface TestPayload {
  readonly id: string
  readonly type: string
  readonly [field: string]: unknown
}

const source = testSource()

/** A signed request. */
export function signed(payload: TestPayload | string): {
  method: 'POST'
  body: string
  headers: Record<string, string>
} {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return { method: 'POST', body, headers: source.sign({ body }) }
}
