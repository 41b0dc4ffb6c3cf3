import { describe, expect, it } from 'vitest'
import { type CustomOptions, custom } from './index.ts'

const base = {
  secret: 's3cret',
  signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
  event: { key: 'json:id' },
} satisfies CustomOptions

/** The error message for options that the types would reject. */
function complaint(options: object): string {
  try {
    custom({ ...base, ...options } as CustomOptions)
  } catch (error) {
    return String(error)
  }
  return 'accepted'
}

describe('a description', () => {
  it.each<[string, object, RegExp]>([
    [
      'an unknown key',
      { singature: {} },
      /custom: unknown "singature" .did you mean "signature".*; allowed: provider, about, signature, .*secret/,
    ],
    [
      'an unknown key within',
      { event: { key: 'json:id', typ: 'json:t' } },
      /event: unknown "typ" .did you mean "type".*; allowed: key, type, objectId, occurredAt, version, object/,
    ],
    [
      'an unknown key in a union',
      { event: { key: { hash: ['json:a'], salt: 1 } } },
      /event\.key: unknown "salt"; allowed: hash/,
    ],
    [
      'an unknown algorithm',
      { signature: { ...base.signature, algorithm: 'hmac-md4' } },
      /signature\.algorithm: .*"hmac-sha1"\|"hmac-sha256".*"ed25519".*"token"/,
    ],
    [
      'an unknown encoding',
      { signature: { ...base.signature, encoding: 'rot13' } },
      /signature\.encoding: .*"hex"/,
    ],
    [
      'an unknown format',
      { signature: { ...base.signature, format: { kind: 'jwt' } } },
      /signature\.format\.kind: /,
    ],
    ['no algorithm', { signature: { header: 'x', encoding: 'hex' } }, /signature\.algorithm: /],
    [
      'a header that is none',
      { signature: { ...base.signature, header: 'x y' } },
      /signature\.header: .*name of a header/,
    ],
    ['no key', { event: {} }, /event\.key: /],
    ['a key that is no place', { event: { key: 'id' } }, /event\.key: expected header:<name> or json:<path>/],
    ['an empty path', { event: { key: 'json:' } }, /event\.key: expected header:<name> or json:<path>/],
    ['a path with a gap', { event: { key: 'json:a..b' } }, /event\.key: expected/],
    ['a bad place in a list', { event: { key: ['json:a', 'b'] } }, /event\.key\.1: expected header:<name>/],
    ['no place in a list', { event: { key: [] } }, /event\.key: /],
    [
      'an unknown placeholder',
      { signature: { ...base.signature, content: '{body}{uri}' } },
      /unknown \{uri\}; allowed: \{body\}/,
    ],
    [
      'a body left unsigned',
      { signature: { ...base.signature, content: 'x' } },
      /must contain \{body\} or \{bodySha256\} exactly once/,
    ],
    [
      'a body signed twice',
      { signature: { ...base.signature, content: '{body}{body}' } },
      /must contain \{body\} or \{bodySha256\} exactly once/,
    ],
    ['a stray brace', { signature: { ...base.signature, content: '{{body}' } }, /unbalanced brace/],
    [
      'a date signed but not declared',
      { signature: { ...base.signature, content: '{timestamp}{body}' } },
      /timestamp: is required, because \{timestamp\} is signed/,
    ],
    [
      'a date declared but not signed',
      { timestamp: { at: 'header:x-date', unit: 's' } },
      /timestamp: must be signed/,
    ],
    [
      'a field of a bare header',
      {
        signature: { ...base.signature, content: '{timestamp}{body}' },
        timestamp: { at: 'field:t', unit: 's' },
      },
      /timestamp\.at: field:<name> needs/,
    ],
    ['a tolerance of nought', { toleranceSeconds: 0 }, /toleranceSeconds: /],
    ['a tolerance without end', { toleranceSeconds: Number.POSITIVE_INFINITY }, /toleranceSeconds: /],
    ['an unknown policy', { unwanted: 'drop' }, /unwanted: must be "ignore" or "record"/],
    ['an empty tenant', { tenant: '' }, /tenant: /],
    ['a provider with a slash', { provider: 'a/b' }, /provider: expected a short name/],
    ['a status that is no success', { acceptedStatus: 301 }, /acceptedStatus: /],
  ])('refuses %s', (_name, options, message) => {
    expect(complaint(options)).toMatch(/^HookonceError: CONFIG_INVALID: /)
    expect(complaint(options)).toMatch(message)
  })

  it('reports all mistakes at once', () => {
    expect(complaint({ event: {}, tenant: 1 })).toMatch(/event\.key: .*; tenant: /)
  })

  it('has safe defaults', () => {
    expect(custom(base)).toMatchObject({
      provider: 'custom',
      tenant: 'default',
      acceptedStatus: 202,
      refusedStatus: 401,
      retryWindowMs: 7 * 24 * 3_600_000,
      unwanted: 'ignore',
      mismatch: 'keep-first',
    })
  })

  it('accepts other values', () => {
    const asked = {
      acceptedStatus: 200,
      refusedStatus: 406,
      unwanted: 'record',
      mismatch: 'reject',
      tenant: 'eu',
    } as const
    expect(custom({ ...base, ...asked })).toMatchObject(asked)
  })
})
