import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Delivery } from '../contract.ts'
import { braintree } from '../index.ts'

const source = braintree({ secret: 'private', settings: { publicKey: 'public' } })

function arriving(payload: string, signed: string): Delivery {
  const key = createHash('sha1').update('private').digest()
  const signature = createHmac('sha1', key).update(signed).digest('hex')
  const form = { bt_signature: `public|${signature}`, bt_payload: payload }
  return {
    method: 'POST',
    url: '/',
    header: (name) => (name === 'content-type' ? 'application/x-www-form-urlencoded' : undefined),
    body: Buffer.from(new URLSearchParams(form).toString()),
    receivedAtMs: 0,
  }
}

test('a payload with and without its last line break is the same event, so a copy makes no new event', () => {
  const xml = '<notification><kind>check</kind><timestamp>2026-01-01T00:00:00Z</timestamp></notification>'
  const payload = `${Buffer.from(xml).toString('base64')}\n`
  const trimmed = payload.trimEnd()
  const deliveries = [arriving(payload, payload), arriving(trimmed, payload)]
  expect(deliveries.map((delivery) => source.verify(delivery))).toMatchObject([{ ok: true }, { ok: true }])
  const [first, second] = deliveries.map((delivery) => source.identify(delivery))
  expect(first).toMatchObject({ ok: true })
  expect(second).toMatchObject({ key: first?.ok ? first.key : '' })
  // If the payload was signed without a line break, a line break cannot be added.
  expect(source.verify(arriving(payload, trimmed))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
})
