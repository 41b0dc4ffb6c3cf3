import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hmacOf } from './hmac.ts'

describe.each(['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const)('HMAC by %s', (algorithm) => {
  it('equals the HMAC of node:crypto, for keys and bodies of all lengths', () => {
    const bytes = (maxLength: number) => fc.uint8Array({ minLength: 1, maxLength })
    const byteText = fc.uint8Array({ maxLength: 40 }).map((text) => Buffer.from(text).toString('latin1'))
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 16_000, max: 17_000 }).map(filled),
    )
    fc.assert(
      fc.property(bytes(300), byteText, body, byteText, (secret, before, content, after) => {
        const key = createSecretKey(secret)
        const theirs = createHmac(algorithm, key)
          .update(before, 'latin1')
          .update(content)
          .update(after, 'latin1')
          .digest()
        expect(hmacOf(algorithm, key)(before, content, after)).toEqual(theirs)
      }),
    )
  })

  it('of one key does not change that of another key', () => {
    const [first, second] = ['a', 'b'].map((text) => hmacOf(algorithm, createSecretKey(Buffer.from(text))))
    const body = Buffer.from('body')
    const alone = first?.('t.', body, '')
    second?.('u.', filled(10_000), 'z')
    expect(first?.('t.', body, '')).toEqual(alone)
  })
})

function filled(length: number): Uint8Array {
  return new Uint8Array(length).fill(length % 251)
}
