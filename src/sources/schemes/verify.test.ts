import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type CustomOptions, custom, type Delivery, standardWebhooks, stripe } from '../index.ts'
import { MAX_HEADER_CHARS } from './needed-headers.ts'
import { MAX_SIGNATURES } from './signature-header.ts'

function deliver(headers: Record<string, string>, body = '{}', receivedAtMs = 0): Delivery {
  return {
    method: 'POST',
    url: '/in/x',
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs,
  }
}

function plain(
  signature: Partial<Extract<CustomOptions['signature'], { content?: string | undefined }>>,
  secret = 'topsecret',
) {
  return custom({
    secret,
    signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex', ...signature },
    event: { key: 'body-hash' },
  })
}

describe('the signature header', () => {
  const source = stripe({ secret: 'whsec_x' })
  const good = (source.sign({ body: '{}', timestampMs: 0 })['stripe-signature'] ?? '').split(',')[1] ?? ''
  const bad = `v1=${'0'.repeat(64)}`
  const verify = (items: string[]) => source.verify(deliver({ 'stripe-signature': items.join(',') }))

  it(`may hold ${MAX_SIGNATURES} signatures; further ones are ignored`, () => {
    const fillers = Array<string>(MAX_SIGNATURES - 1).fill(bad)
    expect(verify(['t=0', ...fillers, good])).toMatchObject({ ok: true })
    expect(verify(['t=0', ...fillers, bad, good])).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('counts signatures that cannot be decoded towards this limit', () => {
    const fillers = Array<string>(MAX_SIGNATURES).fill('v1=zz')
    expect(verify(['t=0', ...fillers, good])).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
  })

  it(`is not read beyond ${MAX_HEADER_CHARS} characters`, () => {
    const padded = ['t=0', good, 'x='.padEnd(MAX_HEADER_CHARS)].join(',')
    expect(source.verify(deliver({ 'stripe-signature': padded.slice(0, MAX_HEADER_CHARS) }))).toMatchObject({
      ok: true,
    })
    expect(source.verify(deliver({ 'stripe-signature': padded }))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
    const huge = `t=0,${`${good},`.repeat(15_000)}`
    expect(huge.length).toBeGreaterThan(1_000_000)
    expect(source.verify(deliver({ 'stripe-signature': huge }))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })

  it('may hold white space between items, and items that are not pairs', () => {
    expect(verify([' t=0 ', 'nonsense', '', ` ${good} `])).toMatchObject({ ok: true })
  })

  it('is rejected without a date, or with an invalid one', () => {
    expect(verify([good])).toMatchObject({ code: 'SIGNATURE_MISSING' })
    for (const date of ['', 'x', '-1', '1e3', '0x10', ' 1 2', '1'.repeat(16), '1.5']) {
      const result = verify([`t=${date}`, good])
      expect(result).toMatchObject({ code: date === '' ? 'SIGNATURE_MISSING' : 'SIGNATURE_MALFORMED' })
    }
  })

  it('accepts hexadecimal digits in upper and lower case', () => {
    expect(verify(['t=0', `v1=${good.slice(3).toUpperCase()}`])).toMatchObject({ ok: true })
  })
})

describe('every algorithm and encoding', () => {
  const algorithms = ['hmac-sha1', 'hmac-sha256', 'hmac-sha512'] as const
  const encodings = ['hex', 'base64', 'base64url'] as const
  it.each(algorithms.flatMap((algorithm) => encodings.map((encoding) => ({ algorithm, encoding }))))(
    '$algorithm in $encoding',
    ({ algorithm, encoding }) => {
      const source = plain({ algorithm, encoding })
      const signature = createHmac(algorithm.slice(5), 'topsecret').update('{}').digest(encoding)
      const verify = (text: string) => source.verify(deliver({ 'x-sig': text }))
      expect(verify(signature)).toMatchObject({ ok: true })
      expect(source.sign({ body: '{}' })['x-sig']).toBe(signature)
      for (const text of [
        signature.slice(1),
        `${signature}A`,
        `${signature}\n`,
        ` ${signature}`,
        `é${signature.slice(1)}`,
      ]) {
        expect(verify(text)).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
      }
    },
  )
})

describe('the secret', () => {
  const sign = (key: Buffer) => createHmac('sha256', key).update('{}').digest('hex')
  const key = Buffer.from('00ff10abcdef', 'hex')

  it.each([
    ['utf8', {}, 'schlüssel', Buffer.from('schlüssel')],
    ['base64', { secretEncoding: 'base64' }, key.toString('base64'), key],
    ['hex', { secretEncoding: 'hex' }, key.toString('hex'), key],
    [
      'a prefix and base64',
      { secretEncoding: 'base64', secretPrefix: 'k_' },
      `k_${key.toString('base64')}`,
      key,
    ],
    ['a prefix and utf8', { secretPrefix: 'k_' }, 'k_abc', Buffer.from('abc')],
  ] as const)('is read as %s', (_name, signature, secret, bytes) => {
    expect(plain(signature, secret).verify(deliver({ 'x-sig': sign(bytes) }))).toMatchObject({ ok: true })
  })

  it.each([
    [{ secretEncoding: 'base64' }, 'not base64!'],
    [{ secretEncoding: 'base64' }, 'abcde'],
    [{ secretEncoding: 'base64' }, '===='],
    [{ secretEncoding: 'hex' }, 'abc'],
    [{ secretEncoding: 'hex' }, 'zz'],
    [{ secretPrefix: 'k_' }, 'k_'],
  ] as const)('fails at construction if it cannot be decoded: %o', (signature, secret) => {
    expect(() => plain(signature, secret)).toThrow(/^CONFIG_INVALID: custom: secret 1 is not/)
  })

  it('never appears in an error message', () => {
    expect(() => standardWebhooks({ secret: 'my-private-text' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('my-private') }),
    )
  })
})

describe('the signed content', () => {
  it('is bytes, even if they are not valid text', () => {
    const body = Buffer.from([0xff, 0x00, 0xc3, 0x28])
    const source = plain({ content: 'é:{body}:ü' })
    const signature = createHmac('sha256', 'topsecret')
      .update(Buffer.concat([Buffer.from('é:'), body, Buffer.from(':ü')]))
      .digest('hex')
    expect(source.verify({ ...deliver({ 'x-sig': signature }), body })).toMatchObject({ ok: true })
  })

  it('accepts a body that is a part of a larger buffer', () => {
    const whole = Buffer.from('xx{"a":1}yy')
    const body = new Uint8Array(whole.buffer, whole.byteOffset + 2, 7)
    const source = plain({})
    const delivery = { ...deliver(source.sign({ body })), body }
    expect(source.verify(delivery)).toMatchObject({ ok: true })
    expect(source.identify(delivery)).toMatchObject({ payload: { a: 1 } })
  })

  it('rejects a signed header with characters above 255, because another header would have the same signature', () => {
    const source = standardWebhooks({ secret: 'c2VjcmV0' })
    const headers = source.sign({ body: '{}', id: 'm1', timestampMs: 0 })
    const disguised = String.fromCharCode(...[...'m1'].map((char) => char.charCodeAt(0) + 0x100))
    expect(source.verify(deliver({ ...headers, 'webhook-id': disguised }))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })
})
