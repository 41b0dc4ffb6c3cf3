import { custom } from '../../src/sources/index.ts'

/**
 * A sender that signs with an HMAC and names its events in the body. Separate processes get its
 * configuration.
 */
export const SENDER = {
  provider: 'test',
  secret: 'secret-of-the-tests',
  signature: { algorithm: 'hmac-sha256', header: 'test-signature', encoding: 'hex' },
  event: { key: 'json:id', type: 'json:type' },
} as const

export function testSource(
  options: {
    unwanted?: 'ignore' | 'record'
    mismatch?: 'keep-first' | 'reject'
    tenant?: string
    redact?: string[]
  } = {},
) {
  return custom<TestPayload, TestPayload>({ ...SENDER, ...options })
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
