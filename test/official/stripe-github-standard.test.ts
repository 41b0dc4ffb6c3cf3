import * as octokit from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { github, standardWebhooks, stripe } from '../../src/sources/index.ts'
import { anyJson, deliver, plainSecret } from './prove.ts'

/**
 * hookonce accepts deliveries that the provider's code signs, and the other way round. The
 * published vectors are valid.
 */

describe('the stripe SDK', () => {
  const sdk = new Stripe('sk_test_x')

  it('signs what we verify', () => {
    fc.assert(
      fc.property(
        anyJson,
        plainSecret,
        fc.integer({ min: 1, max: 4_000_000_000 }),
        (payload, secret, timestamp) => {
          const header = sdk.webhooks.generateTestHeaderString({ payload, secret, timestamp })
          const delivery = deliver({ 'stripe-signature': header }, payload, { atMs: timestamp * 1000 })
          expect(stripe({ secret }).verify(delivery)).toEqual({ ok: true, secret: 1 })
        },
      ),
    )
  })

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(anyJson, plainSecret, (payload, secret) => {
        const headers = stripe({ secret }).sign({ body: payload, timestampMs: 1_700_000_000_000 })
        const event = sdk.webhooks.constructEvent(
          payload,
          headers['stripe-signature'] ?? '',
          secret,
          300,
          undefined,
          1_700_000_100_000,
        )
        expect(event).toEqual(JSON.parse(payload))
      }),
    )
  })

  it('rolls secrets with two signatures in one header', () => {
    const [payload, timestamp] = ['{"id":"evt_1"}', 1_700_000_000]
    const [older, newer] = ['whsec_old', 'whsec_new'].map((secret) =>
      sdk.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
    )
    const header = `${older},${newer?.split(',')[1]}`
    const delivery = deliver({ 'stripe-signature': header }, payload, { atMs: timestamp * 1000 })
    expect(stripe({ secret: 'whsec_new' }).verify(delivery)).toMatchObject({ ok: true })
    expect(stripe({ secret: 'whsec_old' }).verify(delivery)).toMatchObject({ ok: true })
  })

  it('does not make us believe its test scheme v0', () => {
    const [payload, timestamp] = ['{"id":"evt_1"}', 1_700_000_000]
    const header = sdk.webhooks.generateTestHeaderString({
      payload,
      secret: 'whsec_x',
      timestamp,
      scheme: 'v0',
    })
    const delivery = deliver({ 'stripe-signature': header }, payload, { atMs: timestamp * 1000 })
    expect(stripe({ secret: 'whsec_x' }).verify(delivery)).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
  })
})

describe('@octokit/webhooks-methods', () => {
  it('signs what we verify', async () => {
    await fc.assert(
      fc.asyncProperty(anyJson, plainSecret, async (body, secret) => {
        const delivery = deliver({ 'x-hub-signature-256': await octokit.sign(secret, body) }, body)
        expect(github({ secret }).verify(delivery)).toEqual({ ok: true, secret: 1 })
      }),
    )
  })

  it('verifies what we sign', async () => {
    await fc.assert(
      fc.asyncProperty(anyJson, plainSecret, async (body, secret) => {
        const headers = github({ secret }).sign({ body })
        expect(await octokit.verify(secret, body, headers['x-hub-signature-256'] ?? '')).toBe(true)
      }),
    )
  })

  it('agrees with the vector of the GitHub docs', () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    }
    const source = github({ secret: "It's a Secret to Everybody" })
    expect(source.verify(deliver(headers, 'Hello, World!'))).toEqual({ ok: true, secret: 1 })
    expect(source.sign({ body: 'Hello, World!' })).toMatchObject(headers)
  })
})

describe('standardwebhooks', () => {
  const keyBytes = fc.uint8Array({ minLength: 24, maxLength: 64 })
  const id = fc.stringMatching(/^msg_[A-Za-z0-9]{1,30}$/)

  it('signs what we verify', () => {
    fc.assert(
      fc.property(anyJson, keyBytes, id, fc.boolean(), (body, bytes, id, prefixed) => {
        const secret = `${prefixed ? 'whsec_' : ''}${Buffer.from(bytes).toString('base64')}`
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': '1700000000',
          'webhook-signature': new Webhook(secret).sign(id, new Date(1_700_000_000_000), body),
        }
        const delivery = deliver(headers, body, { atMs: 1_700_000_000_000 })
        expect(standardWebhooks({ secret }).verify(delivery)).toEqual({ ok: true, secret: 1 })
        expect(standardWebhooks({ secret }).identify(delivery)).toMatchObject({ key: id })
      }),
    )
  })

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(anyJson, keyBytes, id, (body, bytes, id) => {
        const secret = `whsec_${Buffer.from(bytes).toString('base64')}`
        // The library uses only the machine's clock.
        const headers = standardWebhooks({ secret }).sign({ body, id, timestampMs: Date.now() })
        expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
      }),
    )
  })

  it('agrees with the vector of its Go tests', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const source = standardWebhooks({ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })
    const delivery = deliver(headers, '{"test": 2432232314}', { atMs: 1_614_265_330_000 })
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
  })

  it('passes over signatures of other versions', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const source = standardWebhooks({ secret })
    const headers = source.sign({ body: '{}', id: 'm', timestampMs: 0 })
    const signature = headers['webhook-signature'] ?? ''
    const among = (list: string) =>
      source.verify(deliver({ ...headers, 'webhook-signature': list }, '{}', { atMs: 0 }))
    expect(among(`v1a,${'A'.repeat(86)}== v1,${'A'.repeat(43)}= ${signature}`)).toMatchObject({ ok: true })
    expect(among(signature.replace('v1,', 'v1a,'))).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
  })
})
