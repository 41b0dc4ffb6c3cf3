import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Delivery } from './contract.ts'
import { type CustomOptions, custom, type SignedDelivery } from './index.ts'

/*
 * Features of the description language that need no particular provider. Each is compared with
 * node:crypto, or with itself.
 */

const NOW_MS = 1_700_000_000_000
const BODY = '{"id":"evt_1","at":1700000000000,"name":"grüezi"}'

function arriving(signed: Partial<SignedDelivery>, changed: Partial<Delivery> = {}): Delivery {
  const { url = '/', headers = {}, body = Buffer.from(BODY) } = signed
  return { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: NOW_MS, ...changed }
}

const hmac = (text: string): string => createHmac('sha256', 's').update(text).digest('hex')

describe('the signed content', () => {
  it.each<[content: string, signed: string, more?: Partial<CustomOptions>]>([
    ['{url}{body}', `https://acme.test/in?a=1${BODY}`, { url: 'https://acme.test/in' }],
    ['{method}{url}{body}', `POSThttps://acme.test/in?b=2${BODY}`, { url: 'https://acme.test/in?b=2' }],
    ['{setting:app}{body}', `app-1${BODY}`, { settings: { app: 'app-1' } }],
    ['{json:name}:{body}', `grüezi:${BODY}`],
    ['{query:a}|{body}', `1|${BODY}`],
    ['{path}\n{body}', `/in?a=1\n${BODY}`, { url: 'https://acme.test/in' }],
    ['{path}\n{body}', `/?a=1\n${BODY}`, { url: 'https://acme.test' }],
    ['{bodySha256}', createHash('sha256').update(BODY).digest('hex')],
    ['{json:none}|{body}', `|${BODY}`],
  ])('%s', (content, signed, more = {}) => {
    const source = custom({
      secret: 's',
      signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex', content },
      event: { key: 'json:id' },
      ...more,
    })
    const headers = { 'x-sig': hmac(signed) }
    expect(source.verify(arriving({ headers, url: '/in?a=1' }))).toEqual({ ok: true, secret: 1 })
    expect(source.deliver({ body: BODY, url: '/in?a=1' }).headers['x-sig']).toBe(headers['x-sig'])
    expect(source.verify(arriving({ headers: { 'x-sig': hmac(BODY) } }))).toMatchObject({ ok: false })
  })

  it('may be listed headers', () => {
    const source = custom({
      secret: 's',
      signature: {
        algorithm: 'hmac-sha256',
        header: 'x-sig',
        encoding: 'hex',
        format: {
          kind: 'list',
          itemSeparator: ',',
          fieldSeparator: '=',
          signatureField: 'v1',
          headersField: 'h',
        },
        content: '{timestamp}.{signedHeaders}.{body}',
      },
      timestamp: { at: 'field:t', unit: 's' },
      event: { key: 'json:id' },
    })
    const text = `t=1700000000,h=x-id x-kind,v1=${hmac(`1700000000.x-id x-kind.7.made.${BODY}`)}`
    const headers = { 'x-sig': text, 'x-id': '7', 'x-kind': 'made' }
    expect(source.verify(arriving({ headers }))).toEqual({ ok: true, secret: 1 })
    expect(source.verify(arriving({ headers: { ...headers, 'x-kind': 'lost' } }))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(source.verify(arriving({ headers: { 'x-sig': text, 'x-id': '7' } }))).toMatchObject({
      code: 'SIGNATURE_MISSING',
    })
    expect(source.verify(arriving(source.deliver({ body: BODY, timestampMs: NOW_MS })))).toMatchObject({
      ok: true,
    })
  })

  it('may be an item of a list with two separators', () => {
    const source = custom({
      secret: 's',
      signature: {
        algorithm: 'hmac-sha256',
        header: 'x-sig',
        encoding: 'hex',
        format: { kind: 'list', itemSeparator: ', ', fieldSeparator: '=', signatureField: 'v1' },
        content: '{timestamp}.{body}',
      },
      timestamp: { at: 'field:t', unit: 's' },
      event: { key: 'json:id' },
    })
    const [ours, other] = [hmac(`1700000000.${BODY}`), '0'.repeat(64)]
    for (const signatures of [[ours], [ours, other], [other, ours]]) {
      const text = signatures.map((signature) => `t=1700000000,v1=${signature}`).join(' ')
      expect(source.verify(arriving({ headers: { 'x-sig': text } }))).toEqual({ ok: true, secret: 1 })
    }
    const signed = source.sign({ body: BODY, timestampMs: NOW_MS })
    expect(signed['x-sig']).toBe(`t=1700000000,v1=${ours}`)
  })

  it('may be values without names, after a date or without one', () => {
    const [ours, other] = [hmac(`1700000000000.${BODY}`), '0'.repeat(64)]
    const format = { kind: 'values', separator: ',' } as const
    const signature = { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex', format } as const
    const event = { key: 'json:id' } as const
    const dated = custom({
      secret: 's',
      signature: { ...signature, content: '{timestamp}.{body}' },
      timestamp: { at: 'field:1', unit: 'ms' },
      event,
    })
    for (const values of [[ours], [ours, other], [other, ours], [` ${ours} `]]) {
      const headers = { 'x-sig': ['1700000000000', ...values].join(',') }
      expect(dated.verify(arriving({ headers }))).toEqual({ ok: true, secret: 1 })
    }
    const verified = (text: string) => dated.verify(arriving({ headers: { 'x-sig': text } }))
    // The first value is the date, even if it is a signature.
    expect(verified(`${ours},${ours}`)).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    expect(verified('1700000000000')).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    expect(verified(`1700000000001,${ours}`)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    // Only this many signatures are compared.
    expect(verified(['1700000000000', ...Array(8).fill(other), ours].join(','))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(dated.sign({ body: BODY, timestampMs: NOW_MS })['x-sig']).toBe(`1700000000000,${ours}`)

    const undated = custom({ secret: 's', signature, event })
    expect(undated.verify(arriving({ headers: { 'x-sig': `${other},${hmac(BODY)}` } }))).toMatchObject({
      ok: true,
    })
    expect(undated.sign({ body: BODY })['x-sig']).toBe(hmac(BODY))
    expect(() =>
      custom({
        secret: 's',
        signature: { ...signature, content: '{timestamp}.{body}' },
        timestamp: { at: 'field:t', unit: 'ms' },
        event,
      }),
    ).toThrow(/expected field:1/)
  })

  it('may be another item of the signature header', () => {
    const signature = {
      algorithm: 'hmac-sha256',
      header: 'x-sig',
      encoding: 'hex',
      format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 's' },
      content: '{field:t}.{body}',
    } as const
    const source = custom({ secret: 's', signature, event: { key: 'json:id' } })
    const verified = (text: string) => source.verify(arriving({ headers: { 'x-sig': text } }))
    const ours = hmac(`n0nce=.${BODY}`)
    expect(verified(`t=n0nce=,s=${ours}`)).toEqual({ ok: true, secret: 1 })
    expect(verified(`s=${ours},t=n0nce=`)).toMatchObject({ ok: true })
    // Of repeated items, the first is used.
    expect(verified(`t=other,t=n0nce=,s=${ours}`)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(verified(`s=${ours}`)).toMatchObject({ code: 'SIGNATURE_MISSING' })
    expect(verified(`t=ĳ,s=${ours}`)).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    expect(verified(source.sign({ body: BODY })['x-sig'] ?? '')).toMatchObject({ ok: true })
    expect(() =>
      custom({
        secret: 's',
        signature: { ...signature, format: { kind: 'bare' } },
        event: { key: 'json:id' },
      }),
    ).toThrow(/\{field:<name>\} needs signature.format of kind "list"/)
  })

  it('may be hexadecimal text in base64', () => {
    const source = custom({
      secret: 's',
      signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'base64-hex' },
      event: { key: 'json:id' },
    })
    const text = Buffer.from(hmac(BODY)).toString('base64')
    expect(source.verify(arriving({ headers: { 'x-sig': text } }))).toEqual({ ok: true, secret: 1 })
    expect(source.sign({ body: BODY })['x-sig']).toBe(text)
    const bare = createHmac('sha256', 's').update(BODY).digest('base64')
    expect(source.verify(arriving({ headers: { 'x-sig': bare } }))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })

  it('must contain the body or its hash, once', () => {
    for (const content of ['{timestamp}', '{body}{bodySha256}', 'x'])
      expect(() =>
        custom({
          secret: 's',
          signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex', content },
          event: { key: 'json:id' },
        }),
      ).toThrow(/must contain \{body\} or \{bodySha256\} exactly once/)
  })

  it('may be the sorted fields of a form', () => {
    const source = custom({
      secret: 's',
      body: 'form',
      signature: {
        algorithm: 'hmac-sha256',
        header: 'x-sig',
        encoding: 'hex',
        content: '{sortedForm}',
        covers: 'not-body',
      },
      event: { key: 'form:b' },
    })
    const delivery = arriving({ headers: { 'x-sig': hmac('ax yb1') }, body: Buffer.from('b=1&a=x+y') })
    expect(source.verify(delivery)).toMatchObject({ ok: true })
    expect(source.identify(delivery)).toMatchObject({ key: '1', payload: { a: 'x y', b: '1' } })
  })

  it('may be a date inside the body', () => {
    const source = custom({
      secret: 's',
      signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
      timestamp: { at: 'json:at', unit: 'ms', toleranceSeconds: 60 },
      event: { key: 'json:id' },
    })
    const headers = { 'x-sig': hmac(BODY) }
    expect(source.verify(arriving({ headers }))).toMatchObject({ ok: true })
    expect(source.verify(arriving({ headers }, { receivedAtMs: NOW_MS + 61_000 }))).toMatchObject({
      code: 'TIMESTAMP_TOO_OLD',
    })
  })
})

describe('the proof', () => {
  it('may be a plain hash over the secret and the content', () => {
    const source = custom({
      secret: ['other', 's'],
      signature: { algorithm: 'sha1', header: 'x-sig', encoding: 'hex', content: '{body}{secret}' },
      event: { key: 'json:id' },
    })
    const headers = { 'x-sig': createHash('sha1').update(`${BODY}s`).digest('hex') }
    expect(source.verify(arriving({ headers }))).toEqual({ ok: true, secret: 2 })
    expect(
      source.verify(arriving({ headers: { 'x-sig': createHash('sha1').update(BODY).digest('hex') } })).ok,
    ).toBe(false)
  })

  it.each(['rsa-sha1', 'rsa-sha256', 'rsa-sha512'] as const)(
    'may be %s, with the public key alone',
    (algorithm) => {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const signature = { algorithm, header: 'x-sig', encoding: 'base64' } as const
      const event = { key: 'json:id' } as const
      const theirs = custom({
        secret: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
        signature,
        event,
      })
      const forms = [
        publicKey.export({ format: 'pem', type: 'spki' }).toString(),
        publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      ]
      for (const secret of forms) {
        const ours = custom({ secret, signature, event })
        const signed = theirs.deliver({ body: BODY })
        expect(ours.verify(arriving(signed))).toEqual({ ok: true, secret: 1 })
        expect(ours.verify(arriving(signed, { body: Buffer.from(`${BODY} `) }))).toMatchObject({ ok: false })
        expect(() => ours.sign({ body: BODY })).toThrow(/only the provider has its private key/)
      }
      expect(() => custom({ secret: 'nonsense', signature, event })).toThrow(
        /CONFIG_INVALID.*not a public key/,
      )
    },
  )

  it('may be a token in the query or in a form', () => {
    const inQuery = custom({
      secret: 's&=?',
      signature: { algorithm: 'token', at: 'query:token' },
      event: { key: 'json:id' },
    })
    expect(inQuery.verify(arriving(inQuery.deliver({ body: BODY })))).toMatchObject({ ok: true })
    expect(inQuery.verify(arriving({ url: '/?token=x' }))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(inQuery.verify(arriving({ url: '/' }))).toMatchObject({ code: 'SIGNATURE_MISSING' })

    const inForm = custom({
      secret: 's',
      body: { form: 'data' },
      signature: { algorithm: 'token', at: 'json:token' },
      event: { key: 'json:id' },
    })
    const signed = inForm.deliver({ body: new URLSearchParams({ data: BODY }).toString() })
    expect(inForm.verify(arriving(signed))).toMatchObject({ ok: true })
    expect(inForm.identify(arriving(signed))).toMatchObject({ key: 'evt_1' })
  })

  it('may be a JSON Web Token over the body and the URL', () => {
    const source = custom({
      secret: 's',
      url: 'https://acme.test/in',
      signature: {
        algorithm: 'jwt',
        header: 'authorization',
        prefix: 'Bearer ',
        algorithms: ['HS256', 'HS512'],
        issuer: 'acme',
        bodyHash: { claim: 'payload_hash', encoding: 'hex' },
        urlHash: { claim: 'url_hash', encoding: 'hex' },
      },
      event: { key: 'json:id' },
    })
    const signed = source.deliver({ body: BODY, timestampMs: NOW_MS })
    expect(source.verify(arriving(signed))).toEqual({ ok: true, secret: 1 })
    for (const changed of [{ body: Buffer.from('{}') }, { url: '/?x=1' }])
      expect(source.verify(arriving(signed, changed))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(source.verify(arriving(signed, { receivedAtMs: NOW_MS + 301_000 }))).toMatchObject({
      code: 'TIMESTAMP_TOO_OLD',
    })
    const [, claims = ''] = (signed.headers.authorization ?? '').split('.')
    const unsigned = `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.AA`
    expect(source.verify(arriving({ headers: { authorization: unsigned } }))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })
})

describe('a body', () => {
  it('may be multipart', () => {
    const source = custom({
      secret: 's',
      body: { form: 'json' },
      signature: { algorithm: 'token', header: 'x-token' },
      event: { key: 'json:id' },
    })
    const part = (disposition: string, text: string): string =>
      `--b1\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`
    const body = Buffer.from(
      `${part('name="file"; filename="a"', 'x')}${part('name="json"', BODY)}${part('name="json"', '{}')}--b1--\r\n`,
    )
    const headers = { 'content-type': 'multipart/form-data; boundary=b1', 'x-token': 's' }
    expect(source.identify(arriving({ headers, body }))).toMatchObject({ key: 'evt_1' })
    expect(source.identify(arriving({ headers, body: Buffer.from('--b1--') }))).toMatchObject({
      code: 'BODY_UNPARSABLE',
    })
  })
})
