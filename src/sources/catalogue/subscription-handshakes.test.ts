import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import {
  circle,
  clio,
  exactOnline,
  mailersend,
  oura,
  ringcentral,
  sharepoint,
  smartcar,
  surveymonkey,
  tebex,
} from '../index.ts'

/* Requests that check a URL when a webhook is created, as the providers document them. */

const secret = 'a-secret'

function request({
  headers = {},
  body = '',
  ...rest
}: Partial<Omit<Delivery, 'body'>> & {
  headers?: Record<string, string>
  body?: string | Uint8Array
}): Delivery {
  return {
    ...{ method: 'POST', url: '/', receivedAtMs: 0, header: (name) => headers[name], ...rest },
    body: Buffer.from(body),
  }
}

it('the validation token of ringcentral is returned in a header, but not for a notification', () => {
  const source = ringcentral({ secret })
  const asked = { 'validation-token': 'v-1' }
  expect(source.handshake?.(request({ headers: asked }))).toMatchObject({
    status: 200,
    headers: { 'validation-token': 'v-1' },
  })
  expect(source.handshake?.(request({ headers: asked, body: '{}' }))).toMatchObject({ status: 200 })
  const notification = request({ headers: asked, body: '{"uuid":"1"}' })
  expect(source.handshake?.(notification)).toBeUndefined()
  expect(source.verify(notification)).toMatchObject({ code: 'SIGNATURE_MISSING' })
  expect(source.handshake?.(request({}))).toBeUndefined()
})

it('the secret of clio is returned and passed to onSecret', async () => {
  const received: string[] = []
  const source = clio({ secret, onSecret: (text) => void received.push(text) })
  const headers = { 'x-hook-secret': 'new-secret' }
  const answer = source.handshake?.(request({ headers }))
  expect(answer).toMatchObject({ ok: true, status: 200, headers })
  if (answer?.ok) await answer.perform?.()
  expect(received).toEqual(['new-secret'])
  expect(clio({ secret }).handshake?.(request({ headers }))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
})

it('the challenge of oura is returned to a sender that knows the verification token', () => {
  const source = oura({ secret, settings: { verifyToken: 'known' } })
  const asked = (token: string) =>
    request({ method: 'GET', url: `/?verification_token=${token}&challenge=c-1` })
  expect(source.handshake?.(asked('known'))).toMatchObject({ status: 200, body: '{"challenge":"c-1"}' })
  expect(source.handshake?.(asked('guessed'))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
})

it('the validation token of sharepoint is returned as text', () => {
  const source = sharepoint({ secret })
  expect(source.handshake?.(request({ url: '/?validationtoken=a%20b' }))).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: 'a b',
  })
  expect(source.handshake?.(request({ body: '{"value":[]}' }))).toBeUndefined()
})

it('the challenge of smartcar is signed, and a text that could be a delivery is not', () => {
  const source = smartcar({ secret })
  const asked = (challenge: string) =>
    request({ body: JSON.stringify({ eventId: 'e', eventType: 'VERIFY', data: { challenge } }) })
  const challenge = createHmac('sha256', secret).update('3a5c8f72-e6d9').digest('hex')
  expect(source.handshake?.(asked('3a5c8f72-e6d9'))).toMatchObject({
    status: 200,
    body: JSON.stringify({ challenge }),
  })
  expect(source.handshake?.(asked('{"eventId":"forged"}'))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
  expect(source.handshake?.(request({ body: '{"eventType":"VEHICLE_STATE"}' }))).toBeUndefined()
})

it('the id of a validation of tebex is returned', () => {
  const source = tebex({ secret })
  const body = '{"id":"v-1","type":"validation.webhook","subject":{}}'
  expect(source.handshake?.(request(source.deliver({ body })))).toMatchObject({
    status: 200,
    body: '{"id":"v-1"}',
  })
  expect(source.handshake?.(request({ body }))).toMatchObject({ status: 200, body: '{"id":"v-1"}' })
  const paid = source.deliver({ body: '{"id":"v-1","type":"payment.completed","subject":{}}' })
  expect(source.handshake?.(request(paid))).toBeUndefined()
})

it('the test of mailersend, signed with another secret, is answered and not a delivery', () => {
  const source = mailersend({ secret })
  const test = request({ body: '{"type":"webhook.test","message":"ping"}', headers: { signature: '00' } })
  expect(source.handshake?.(test)).toMatchObject({ status: 200, body: '' })
  expect(source.verify(test).ok).toBe(false)
  expect(source.handshake?.(request({ body: '{"type":"activity.sent","data":{"id":"1"}}' }))).toBeUndefined()
})

it('surveymonkey and circle check the URL with HEAD, exact online with an empty request', () => {
  const head = request({ method: 'HEAD' })
  const empty = { status: 200, body: '' }
  expect(surveymonkey({ secret }).handshake?.(head)).toMatchObject(empty)
  expect(circle({ secret, settings: { product: 'wallets' } }).handshake?.(head)).toMatchObject(empty)
  const source = exactOnline({ secret })
  expect(source.handshake?.(request({}))).toMatchObject(empty)
  expect(source.handshake?.(request({ body: '{"Content":{}}' }))).toBeUndefined()
  expect(source.handshake?.(request({ method: 'GET' }))).toBeUndefined()
})

it('circle is refused without a known product', () => {
  expect(() => circle({ secret, settings: { product: 'mint' } })).toThrow(/settings\.product/)
})
