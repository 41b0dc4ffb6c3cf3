import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { braintree } from '../../src/sources/index.ts'
import { deliver } from './prove.ts'

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
      { numRuns: 40 },
    )
  })

  it('answers a challenge as we do', () => {
    // github.com/braintree/braintree_node:test/unit/braintree/webhook_notification_gateway_spec.js
    const published = '20f9f8ed05f77439fe955c977e4c8a53'
    const answered = (challenge: string) =>
      source.handshake?.({ ...deliver({}, '', { url: `/?bt_challenge=${challenge}` }), method: 'GET' })
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
