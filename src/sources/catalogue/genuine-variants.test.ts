import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { inline } from '../../inline/index.ts'
import { memoryKeys } from '../../keys/index.ts'
import type { Delivery } from '../contract.ts'
import { bigcommerce, cloudinary, github, hubspot, shopify, twilio } from '../index.ts'

/*
 * Genuine deliveries in an unusual form: another signature, another content type, other headers.
 */

const NOW_MS = 1_700_000_000_000

function arriving(body: string, headers: Record<string, string>, more: Partial<Delivery> = {}): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs: NOW_MS,
    ...more,
  }
}

const sha = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex')

describe('hubspot', () => {
  const secret = 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy'
  const url = 'https://www.example.com/webhook_uri'
  const source = hubspot({ secret, url })
  const body =
    '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]'

  it('accepts the older signatures, as documented', () => {
    const v1 = {
      'x-hubspot-signature': '232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de',
      'x-hubspot-signature-version': 'v1',
    }
    expect(source.verify(arriving(body, v1))).toEqual({ ok: true, secret: 1 })
    expect(source.verify(arriving(`${body} `, v1))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    const v2 = {
      'x-hubspot-signature': 'eee2dddcc73c94d699f5e395f4b9d454a069a6855fbfa152e91e88823087200e',
      'x-hubspot-signature-version': 'v2',
    }
    expect(source.verify(arriving('', v2, { method: 'GET' }))).toEqual({ ok: true, secret: 1 })
    expect(source.verify(arriving('', v2))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    // One version is not accepted as the other, and an unknown version is not accepted at all.
    for (const version of ['v2', 'v9', ''])
      expect(source.verify(arriving(body, { ...v1, 'x-hubspot-signature-version': version })).ok).toBe(false)
  })

  it('checks only the dated signature if there is one', () => {
    const workflow = '{"portalId":1,"objectType":"CONTACT","objectId":7,"properties":{}}'
    const signed = source.deliver({ body: workflow, timestampMs: NOW_MS })
    const older = {
      'x-hubspot-signature': sha('sha256', `${secret}POST${url}${workflow}`),
      'x-hubspot-signature-version': 'v2',
    }
    const both = { ...signed.headers, ...older }
    expect(source.verify(arriving(workflow, both))).toEqual({ ok: true, secret: 1 })
    const late = { receivedAtMs: NOW_MS + 3_600_000 }
    expect(source.verify(arriving(workflow, both, late))).toMatchObject({ code: 'TIMESTAMP_TOO_OLD' })
    const forged = { ...both, 'x-hubspot-signature-v3': Buffer.alloc(32).toString('base64') }
    expect(source.verify(arriving(workflow, forged))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(source.identify(arriving(workflow, both))).toMatchObject({ type: 'workflow', objectId: '7' })
  })
})

it('cloudinary accepts SHA-1 and SHA-256, as the account is configured', () => {
  const source = cloudinary({ secret: 'secret' })
  const body = '{"notification_type":"upload"}'
  const dated = { 'x-cld-timestamp': String(NOW_MS / 1_000) }
  for (const algorithm of ['sha1', 'sha256']) {
    const headers = {
      ...dated,
      'x-cld-signature': sha(algorithm, `${body}${dated['x-cld-timestamp']}secret`),
    }
    expect(source.verify(arriving(body, headers))).toEqual({ ok: true, secret: 1 })
    expect(source.verify(arriving(`${body} `, headers))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    const late = { receivedAtMs: NOW_MS + 8_000_000 }
    expect(source.verify(arriving(body, headers, late))).toMatchObject({ code: 'TIMESTAMP_TOO_OLD' })
  }
})

describe('github', () => {
  const source = github({ secret: 'x' })
  const payload = '{"action":"opened","issue":{"id":7},"title":"a+b & c=ü"}'
  const signed = (body: string): Record<string, string> => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', 'x').update(body).digest('hex')}`,
    'x-github-event': 'issues',
    'x-github-delivery': 'd',
  })

  it('accepts a form, whose signature covers the bytes as sent', () => {
    const form = new URLSearchParams({ payload }).toString()
    const delivery = arriving(form, signed(form))
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
    const identity = { key: 'd', type: 'issues.opened', objectId: '7', payload: JSON.parse(payload) }
    expect(source.identify(delivery)).toMatchObject(identity)
    expect(source.identify(arriving(payload, signed(payload)))).toMatchObject(identity)
    expect(source.verify(arriving(form.replace('opened', 'closed'), signed(form)))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
  })

  it.each(['payload=', 'payload=%5B', 'other=%7B%7D', 'x', ''])('refuses the form %o', (form) => {
    expect(source.identify(arriving(form, signed(form)))).toMatchObject({ code: 'BODY_UNPARSABLE' })
  })
})

describe('shopify', () => {
  const source = shopify({ secret: 'x' })
  it.each([
    ['orders/edited', { order_edit: { id: 1, order_id: 2 } }, '2'],
    ['fulfillment_orders/moved', { original_fulfillment_order: { id: 'gid://a/1' } }, 'gid://a/1'],
    ['fulfillment_orders/cancelled', { fulfillment_order: { id: 'gid://a/2' } }, 'gid://a/2'],
    ['inventory_levels/update', { inventory_item_id: 3, location_id: 4 }, '3'],
    ['product_listings/add', { product_listing: { product_id: 5 } }, '5'],
    ['collection_listings/add', { collection_listing: { collection_id: 6 } }, '6'],
    ['app_subscriptions/update', { app_subscription: { admin_graphql_api_id: 'gid://a/7' } }, 'gid://a/7'],
    ['customers/redact', { shop_id: 8, customer: { id: 9 }, orders_to_redact: [] }, '9'],
    ['shop/redact', { shop_id: 8 }, '8'],
    ['subscription_billing_cycles/skip', { subscription_contract_id: 10 }, '10'],
    ['orders/create', { id: 11, customer: { id: 9 } }, '11'],
  ])('finds the object of %s', (topic, body, objectId) => {
    const headers = { 'x-shopify-webhook-id': 'w', 'x-shopify-topic': topic }
    const event = source.identify(arriving(JSON.stringify(body), headers))
    expect(event).toMatchObject({ key: 'w', type: topic, objectId })
  })

  it('accepts the newer deliveries, with headers named shopify-*', () => {
    const body =
      '{"topic":"Product","action":"update","query_variables":{"productId":"gid://shopify/Product/1"}}'
    const delivery = arriving(body, {
      'shopify-hmac-sha256': createHmac('sha256', 'x').update(body).digest('base64'),
      'shopify-webhook-id': 'w',
      'shopify-topic': 'Product',
      'shopify-action': 'update',
      'shopify-triggered-at': '2023-11-14T22:13:20Z',
    })
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
    expect(source.identify(delivery)).toMatchObject({
      key: 'w',
      type: 'Product/update',
      objectId: 'gid://shopify/Product/1',
      occurredAtMs: NOW_MS,
    })
  })
})

it('bigcommerce: the event key is the header that it signs', () => {
  const source = bigcommerce({ secret: 'x' })
  const body = '{"scope":"store/order/updated","hash":"h","data":{"id":1}}'
  expect(source.identify(arriving(body, { 'webhook-id': 'w' }))).toMatchObject({ key: 'w' })
  expect(source.identify(arriving(body, {}))).toMatchObject({ key: 'h' })
})

describe('twilio', () => {
  const url = 'https://example.com/in/twilio'
  const source = twilio({ secret: 'token', url })
  const signed = (body: string): Delivery => {
    const query = `?bodySHA256=${sha('sha256', body)}`
    const signature = createHmac('sha1', 'token')
      .update(url + query)
      .digest('base64')
    const headers = { 'x-twilio-signature': signature, 'content-type': 'application/json' }
    return arriving(body, headers, { url: `/in/twilio${query}` })
  }

  it('accepts Event Streams: a batch of CloudEvents', () => {
    const event = (id: string): object => ({
      specversion: '1.0',
      type: 'com.twilio.messaging.message.sent',
      source: '/2010-04-01/Accounts/AC/Messages/SM.json',
      id,
      time: '2023-11-14T22:13:20Z',
    })
    const delivery = signed(JSON.stringify([event('EZ1'), event('EZ2')]))
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
    const parts = source.split?.(delivery) ?? []
    if ('ok' in parts) throw new Error(parts.detail)
    const events = parts.map((part) => source.identify(part))
    expect(events).toMatchObject([
      { type: 'com.twilio.messaging.message.sent', occurredAtMs: NOW_MS, object: event('EZ1') },
      { type: 'com.twilio.messaging.message.sent', occurredAtMs: NOW_MS, object: event('EZ2') },
    ])
    expect(new Set(events.map((one) => one.ok && one.key)).size).toBe(2)
  })

  it('accepts Verify Push, as JSON or as a form', () => {
    const fields = { uid: 'e1', type: 'challenge.approved', challenge_sid: 'YC1' }
    const json = signed(JSON.stringify(fields))
    expect(source.verify(json)).toEqual({ ok: true, secret: 1 })
    const form = source.deliver({ body: new URLSearchParams(fields).toString(), url: '/in/twilio' })
    for (const delivery of [json, arriving(Buffer.from(form.body).toString(), form.headers)])
      expect(source.identify(delivery)).toMatchObject({
        key: 'e1',
        type: 'challenge.approved',
        objectId: 'YC1',
      })
  })

  it('can be handled inside its request, one event at a time', async () => {
    const seen: string[] = []
    const store = memoryKeys()
    const handled = inline(source, ({ type }) => void seen.push(type), { store, name: 'calls' })
    const send = async (body: string): Promise<number> => {
      const request = source.deliver({ body, url: '/in/twilio' })
      const init = { method: 'POST', headers: request.headers, body: request.body }
      return (await handled.fetch(new Request(`https://example.com${request.url}`, init))).status
    }
    expect(await send('CallSid=CA1&CallStatus=ringing')).toBe(200)
    expect(await send('[{"specversion":"1.0","source":"s","id":"1","type":"a"}]')).toBe(200)
    const two = '[{"specversion":"1.0","source":"s","id":"2"},{"specversion":"1.0","source":"s","id":"3"}]'
    expect(await send(two)).toBe(413)
    expect(seen).toEqual(['ringing', 'a'])
  })
})
