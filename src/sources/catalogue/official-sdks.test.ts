import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createRequire } from 'node:module'
import { Paddle } from '@paddle/paddle-node-sdk'
import { EventWebhook } from '@sendgrid/eventwebhook'
import { isValidSlackRequest } from '@slack/bolt/dist/receivers/verify-request.js'
import { verifyKey } from 'discord-interactions'
import fc from 'fast-check'
import { Webhook } from 'svix'
import twilioSdk from 'twilio'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import { braintree, discord, hygraph, paddle, sendgrid, slack, svix, twilio } from '../index.ts'
import type { SignedDelivery } from '../sign.ts'

/*
 * The libraries of the providers against ours: what one side signs the other believes, and what was changed neither does.
 * Where a library can only verify, that is the one way there is.
 */

// The libraries know no clock but the machine's.
const NOW_MS = Math.floor(Date.now() / 1000) * 1000

/** Random JSON of every script, and what only a real sender comes up with. */
const json = fc
  .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }))
  .map((value) => JSON.stringify(value))
const MEGABYTE = JSON.stringify({ text: 'é😀\u2028'.repeat(110_000) })
const text = fc.oneof({ weight: 20, arbitrary: json }, { weight: 1, arbitrary: fc.constant(MEGABYTE) })
const secret = fc.stringMatching(/^[!-~]{8,64}$/)
const runs = { numRuns: 40 }

function arriving({ url, headers, body }: Pick<SignedDelivery, 'url' | 'headers' | 'body'>): Delivery {
  return { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs: NOW_MS }
}

function deliver(headers: Record<string, string>, body: string | Uint8Array, url = '/'): Delivery {
  return arriving({ url, headers, body: Buffer.from(body) })
}

const pemOf = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString()

describe('npm:svix', () => {
  const key = fc.uint8Array({ minLength: 24, maxLength: 64 })
  const id = fc.stringMatching(/^msg_[A-Za-z0-9]{1,30}$/)

  it('signs what we verify, also what is no text', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.constant('')), key, id, (body, bytes, id) => {
        const secret = `whsec_${Buffer.from(bytes).toString('base64')}`
        const headers = {
          'svix-id': id,
          'svix-timestamp': String(NOW_MS / 1000),
          'svix-signature': new Webhook(secret).sign(id, new Date(NOW_MS), body),
        }
        expect(svix({ secret }).verify(deliver(headers, body))).toEqual({ ok: true, secret: 1 })
        expect(svix({ secret }).verify(deliver(headers, `${body} `))).toMatchObject({
          code: 'SIGNATURE_MISMATCH',
        })
      }),
      runs,
    )
  })

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(text, key, id, (body, bytes, id) => {
        const secret = `whsec_${Buffer.from(bytes).toString('base64')}`
        const headers = svix({ secret }).sign({ body, id, timestampMs: NOW_MS })
        expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
        expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow()
      }),
      runs,
    )
  })
})

describe('npm:@sendgrid/eventwebhook', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sdk = new EventWebhook()
  const theirs = sdk.convertPublicKeyToECDSA(
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const ours = sendgrid({ secret: pemOf(privateKey) })
  const believes = (body: string, headers: Record<string, string>): boolean =>
    sdk.verifySignature(
      theirs,
      body,
      headers['x-twilio-email-event-webhook-signature'] ?? '',
      headers['x-twilio-email-event-webhook-timestamp'] ?? '',
    )

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.constant('')), (body) => {
        const headers = ours.sign({ body, timestampMs: NOW_MS })
        expect(believes(body, headers)).toBe(true)
        expect(believes(`${body} `, headers)).toBe(false)
      }),
      { numRuns: 15 },
    )
  })
})

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
      fc.property(fields, secret, (params, secret) => {
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
      fc.property(fields, secret, (params, secret) => {
        const { headers } = twilio({ secret, url }).deliver({ body: written(params) })
        const signature = headers['x-twilio-signature'] ?? ''
        expect(twilioSdk.validateRequest(secret, signature, url, params)).toBe(true)
        expect(twilioSdk.validateRequest(secret, signature, url, { ...params, Added: 'x' })).toBe(false)
      }),
    )
  })

  it('verifies JSON that we sign', () => {
    fc.assert(
      fc.property(text, secret, (body, secret) => {
        const signed = twilio({ secret, url }).deliver({
          body,
          headers: { 'content-type': 'application/json' },
        })
        const query = signed.url.slice(signed.url.indexOf('?'))
        const signature = signed.headers['x-twilio-signature'] ?? ''
        expect(twilioSdk.validateRequestWithBody(secret, signature, url + query, body)).toBe(true)
        expect(twilioSdk.validateRequestWithBody(secret, signature, url + query, `${body} `)).toBe(false)
        expect(twilio({ secret, url }).verify(arriving(signed))).toEqual({ ok: true, secret: 1 })
      }),
      runs,
    )
  })
})

describe('npm:@paddle/paddle-node-sdk', () => {
  const { webhooks } = new Paddle('key')

  it('verifies what we sign', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.constant('')), secret, async (body, secret) => {
        // Its tolerance is five seconds.
        const header = paddle({ secret }).sign({ body, timestampMs: Date.now() })['paddle-signature'] ?? ''
        // It takes no empty body, whatever the signature is.
        expect(await webhooks.isSignatureValid(body || ' ', secret, header)).toBe(body !== '')
        expect(await webhooks.isSignatureValid(`${body} x`, secret, header)).toBe(false)
      }),
      runs,
    )
  })
})

describe('npm:@slack/bolt', () => {
  it('verifies what we sign', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.constant('')), secret, (body, signingSecret) => {
        const headers = slack({ secret: signingSecret }).sign({ body, timestampMs: NOW_MS })
        const believes = (body: string): boolean =>
          isValidSlackRequest({
            signingSecret,
            body,
            headers: {
              'x-slack-signature': headers['x-slack-signature'] ?? '',
              'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
            },
            nowMilliseconds: NOW_MS,
          })
        expect(believes(body)).toBe(true)
        expect(believes(`${body} `)).toBe(false)
      }),
      runs,
    )
  })
})

describe('npm:discord-interactions', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')

  it('verifies what we sign, bytes as well', async () => {
    const ours = discord({ secret: pemOf(privateKey) })
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.constant(''), fc.uint8Array()), async (body) => {
        const headers = ours.sign({ body, timestampMs: NOW_MS })
        const believes = (bytes: Uint8Array): Promise<boolean> =>
          verifyKey(bytes, headers['x-signature-ed25519'] ?? '', headers['x-signature-timestamp'] ?? '', hex)
        expect(await believes(Buffer.from(body))).toBe(true)
        expect(await believes(Buffer.concat([Buffer.from(body), Buffer.from(' ')]))).toBe(false)
        // The key as the dashboard shows it.
        expect(discord({ secret: hex }).verify(deliver(headers, body))).toEqual({ ok: true, secret: 1 })
      }),
      runs,
    )
  })
})

const require = createRequire(import.meta.url)

interface Gateway {
  readonly webhookTesting: {
    sampleNotification(kind: string, id: string): { bt_signature: string; bt_payload: string }
  }
  readonly webhookNotification: {
    parse(signature: string, payload: string): Promise<{ kind: string; timestamp: string }>
    verify(challenge: string): string
  }
}

interface Braintree {
  readonly Environment: { readonly Sandbox: unknown }
  readonly WebhookNotification: { readonly Kind: Readonly<Record<string, string>> }
  readonly BraintreeGateway: new (options: object) => Gateway
}

describe('npm:braintree', () => {
  const sdk = require('braintree') as Braintree
  const keys = { publicKey: 'integration_public_key', privateKey: 'integration_private_key' }
  const gateway = new sdk.BraintreeGateway({
    environment: sdk.Environment.Sandbox,
    merchantId: 'integration_merchant_id',
    ...keys,
  })
  const source = braintree({ secret: keys.privateKey, settings: { publicKey: keys.publicKey } })

  it.each(Object.values(sdk.WebhookNotification.Kind))('signs a %s that we verify and read', async (kind) => {
    const fields = gateway.webhookTesting.sampleNotification(kind, 'my_id')
    const body = new URLSearchParams({ ...fields }).toString()
    expect(source.verify(deliver({}, body))).toEqual({ ok: true, secret: 1 })
    const theirs = await gateway.webhookNotification.parse(fields.bt_signature, fields.bt_payload)
    expect(source.identify(deliver({}, body))).toMatchObject({
      ok: true,
      type: theirs.kind,
      occurredAtMs: Date.parse(theirs.timestamp),
    })
    const forged = new URLSearchParams({ ...fields, bt_payload: `A${fields.bt_payload.slice(1)}` }).toString()
    expect(source.verify(deliver({}, forged))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('verifies and reads what we sign', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (id) => {
        fc.pre(id.trim() === id && !/[\0-\x1f\ufffe\uffff]/.test(id))
        const timestamp = '2026-01-02T03:04:05Z'
        const subject = { transaction: { id } }
        const sample = { notification: { timestamp, kind: 'transaction_disbursed', subject } }
        const { body } = source.deliver({ body: JSON.stringify(sample) })
        const form = new URLSearchParams(Buffer.from(body).toString())
        const read = await gateway.webhookNotification.parse(
          form.get('bt_signature') ?? '',
          form.get('bt_payload') ?? '',
        )
        expect(read).toMatchObject({ kind: 'transaction_disbursed', transaction: { id } })
        expect(source.identify(deliver({}, body))).toMatchObject({ objectId: id })
      }),
      runs,
    )
  })

  it('answers a challenge as we do', () => {
    // github.com/braintree/braintree_node:test/unit/braintree/webhook_notification_gateway_spec.js
    const published = '20f9f8ed05f77439fe955c977e4c8a53'
    const answered = (challenge: string) =>
      source.handshake?.({ ...deliver({}, '', `/?bt_challenge=${challenge}`), method: 'GET' })
    expect(answered(published)).toMatchObject({
      body: 'integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4',
    })
    fc.assert(
      fc.property(fc.stringMatching(/^[a-f0-9]{20,32}$/), (challenge) => {
        expect(answered(challenge)).toMatchObject({ body: gateway.webhookNotification.verify(challenge) })
      }),
    )
    for (const challenge of ['', 'zz', published.slice(0, 19), `${published}0`, 'PG5vdGlmaWNhdGlvbj4'])
      expect(answered(challenge)?.ok).not.toBe(true)
  })
})

interface HygraphUtils {
  generateWebhookSignature(sample: { rawPayload: string; secret: string; environmentName?: string }): string
  verifyWebhookSignature(given: { rawPayload: string; secret: string; signature: string }): boolean
}

describe('npm:@hygraph/utils', () => {
  const sdk = require('@hygraph/utils') as HygraphUtils

  it('signs what we verify', () => {
    fc.assert(
      fc.property(text, secret, fc.constantFrom('master', 'dev-2'), (rawPayload, secret, environmentName) => {
        const signature = sdk.generateWebhookSignature({ rawPayload, secret, environmentName })
        const verify = (body: string) =>
          hygraph({ secret }).verify(deliver({ 'gcms-signature': signature }, body))
        expect(verify(rawPayload)).toEqual({ ok: true, secret: 1 })
        expect(verify(`${rawPayload} `)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
      }),
      runs,
    )
  })

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(text, secret, (rawPayload, secret) => {
        const signature = hygraph({ secret }).sign({ body: rawPayload })['gcms-signature'] ?? ''
        expect(sdk.verifyWebhookSignature({ rawPayload, secret, signature })).toBe(true)
        expect(sdk.verifyWebhookSignature({ rawPayload: `${rawPayload} `, secret, signature })).toBe(false)
      }),
      runs,
    )
  })
})
