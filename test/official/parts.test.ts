import { createRequire } from 'node:module'
import { EventCallbackHelper, EventCallbackRequest } from '@dropbox/sign'
import { verifySignature as verifyVonageToken } from '@vonage/jwt'
import fc from 'fast-check'
import { WebhookSignatureValidator } from 'mercadopago'
import twilioSdk from 'twilio'
import { describe, expect, it } from 'vitest'
import { dropboxSign, mercadopago, messagebird, twilio, vonage } from '../../src/sources/index.ts'
import { anyJson, deliver, plainSecret } from './prove.ts'

/* Providers that sign fields, the URL or a token instead of the unchanged body. */

const require = createRequire(import.meta.url)

describe('npm:twilio', () => {
  const url = 'https://example.com/in/twilio'
  const fields = fc.dictionary(
    fc.stringMatching(/^[A-Za-z]{1,12}$/),
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
    ),
  )
  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  function written(params: Record<string, string | string[]>): string {
    const body = new URLSearchParams()
    for (const [name, values] of Object.entries(params))
      for (const value of [values].flat()) body.append(name, value)
    return body.toString()
  }

  it('signs forms that we verify', () => {
    fc.assert(
      fc.property(fields, plainSecret, (params, secret) => {
        const signature = twilioSdk.getExpectedTwilioSignature(secret, url, params)
        const headers = { ...form, 'x-twilio-signature': signature }
        const source = twilio({ secret, url })
        expect(source.verify(deliver(headers, written(params)))).toEqual({ ok: true, secret: 1 })
        expect(source.verify(deliver(headers, written({ ...params, Added: 'x' })))).toMatchObject({
          code: 'SIGNATURE_MISMATCH',
        })
      }),
    )
  })

  it('verifies forms that we sign', () => {
    fc.assert(
      fc.property(fields, plainSecret, (params, secret) => {
        const { headers } = twilio({ secret, url }).deliver({ body: written(params) })
        const signature = headers['x-twilio-signature'] ?? ''
        expect(twilioSdk.validateRequest(secret, signature, url, params)).toBe(true)
        expect(twilioSdk.validateRequest(secret, signature, url, { ...params, Added: 'x' })).toBe(false)
      }),
    )
  })

  it('verifies JSON that we sign', () => {
    fc.assert(
      fc.property(anyJson, plainSecret, (body, secret) => {
        const signed = twilio({ secret, url }).deliver({
          body,
          headers: { 'content-type': 'application/json' },
        })
        const query = signed.url.slice(signed.url.indexOf('?'))
        const signature = signed.headers['x-twilio-signature'] ?? ''
        expect(twilioSdk.validateRequestWithBody(secret, signature, url + query, body)).toBe(true)
        expect(twilioSdk.validateRequestWithBody(secret, signature, url + query, `${body} `)).toBe(false)
        expect(
          twilio({ secret, url }).verify(deliver(signed.headers, signed.body, { url: signed.url })),
        ).toEqual({ ok: true, secret: 1 })
      }),
      { numRuns: 40 },
    )
  })
})

describe('npm:mercadopago@3.6.1:dist/utils/webhook/index.js', () => {
  it('verifies what we sign, and nothing else', () => {
    const id = fc.stringMatching(/^[A-Za-z0-9-]{1,40}$/)
    fc.assert(
      fc.property(id, id, plainSecret, (dataId, requestId, secret) => {
        const signed = mercadopago({ secret }).deliver({
          body: '{"id":1}',
          url: `/?data.id=${dataId}&type=payment`,
          headers: { 'x-request-id': requestId },
          timestampMs: Date.now(),
        })
        const asked = { xSignature: signed.headers['x-signature'], xRequestId: requestId, secret }
        const toleranceSeconds = 300
        WebhookSignatureValidator.validate({ ...asked, dataId, toleranceSeconds })
        expect(() => WebhookSignatureValidator.validate({ ...asked, dataId: `${dataId}1` })).toThrow()
        expect(
          mercadopago({ secret }).verify(deliver(signed.headers, signed.body, { url: signed.url })).ok,
        ).toBe(true)
        expect(
          mercadopago({ secret }).verify(deliver(signed.headers, signed.body, { url: '/?data.id=.' })).ok,
        ).toBe(false)
      }),
    )
  })
})

describe('npm:@dropbox/sign@1.11.0:model/eventCallbackHelper.ts', () => {
  it('verifies what we sign, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4_000_000_000 }),
        fc.stringMatching(/^[a-z_]{1,40}$/),
        plainSecret,
        (time, type, secret) => {
          const payload = { event: { event_time: String(time), event_type: type, event_hash: '' } }
          const { body } = dropboxSign({ secret }).deliver({
            body: new URLSearchParams({ json: JSON.stringify(payload) }).toString(),
          })
          const signed: unknown = JSON.parse(
            new URLSearchParams(Buffer.from(body).toString()).get('json') ?? '',
          )
          const callback = EventCallbackRequest.init(signed as Record<string, unknown>)
          expect(EventCallbackHelper.isValid(secret, callback)).toBe(true)
          expect(EventCallbackHelper.isValid(`${secret}x`, callback)).toBe(false)
        },
      ),
    )
  })
})

describe('npm:@vonage/jwt@1.14.0:dist/cjs/verifySignature.js', () => {
  it('verifies the token that we sign, and nothing else', () => {
    fc.assert(
      fc.property(anyJson, plainSecret, (body, secret) => {
        const { authorization = '' } = vonage({ secret }).sign({ body, timestampMs: Date.now() })
        const token = authorization.slice('Bearer '.length)
        expect(verifyVonageToken(token, secret)).toBe(true)
        expect(verifyVonageToken(token, `${secret}x`)).toBe(false)
      }),
    )
  })
})

interface ReferenceCase {
  readonly name: string
  readonly method: string
  readonly secret: string
  readonly url: string
  readonly payload?: string
  readonly timestamp: string
  readonly token: string
  readonly valid: boolean
}

const reference: ReferenceCase[] = require('messagebird/lib/testdata/webhook-signature-jwt-reference.json')

describe('npm:messagebird@4.0.1:lib/testdata/webhook-signature-jwt-reference.json', () => {
  it.each(reference)('$name', ({ secret, url, payload, timestamp, token, valid }) => {
    const delivery = deliver({ 'messagebird-signature-jwt': token }, Buffer.from(payload ?? ''), {
      atMs: Date.parse(timestamp),
    })
    expect(messagebird({ secret: secret ?? 'x', url }).verify(delivery).ok).toBe(valid)
  })
})
