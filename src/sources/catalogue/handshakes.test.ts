import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import {
  front,
  intercom,
  linkedin,
  mailchimp,
  mandrill,
  monday,
  notion,
  nylas,
  okta,
  onfleet,
  type SigningSource,
  strava,
  trello,
  twitch,
  vercelLogDrains,
  whatsapp,
  woocommerce,
  youtube,
} from '../index.ts'

/* Handshake requests as the providers document them. Each provider lists the evidence. */

const secret = 'a-secret'

function handshakeOf(
  source: SigningSource,
  request: Partial<Omit<Delivery, 'body'>> & { body?: string } = {},
) {
  return source.handshake?.({
    method: 'POST',
    url: '/',
    header: () => undefined,
    receivedAtMs: 0,
    ...request,
    body: Buffer.from(request.body ?? ''),
  })
}

const having = (headers: Record<string, string>) => ({ header: (name: string) => headers[name] })

describe('a challenge', () => {
  it('of whatsapp is echoed to a sender that knows the verify token', () => {
    const source = whatsapp({ secret, settings: { verifyToken: 'right' } })
    const url = (token: string) => `/?hub.mode=subscribe&hub.challenge=11582&hub.verify_token=${token}`
    expect(handshakeOf(source, { method: 'GET', url: url('right') })).toMatchObject({
      status: 200,
      body: '11582',
    })
    expect(handshakeOf(source, { method: 'GET', url: url('wrong') })).toMatchObject({
      code: 'HANDSHAKE_REFUSED',
    })
  })

  it('of okta and monday is echoed as JSON', () => {
    const request = { method: 'GET', ...having({ 'x-okta-verification-challenge': 'abc' }) }
    expect(handshakeOf(okta({ secret }), request)).toMatchObject({
      status: 200,
      body: '{"verification":"abc"}',
    })
    expect(handshakeOf(monday({ secret }), { body: '{"challenge":"3eZ"}' })).toMatchObject({
      status: 200,
      body: '{"challenge":"3eZ"}',
    })
    expect(handshakeOf(monday({ secret }), { body: '{"event":{"type":"x"}}' })).toBeUndefined()
  })
})

it('the verification token of notion is passed to onSecret', async () => {
  const received: string[] = []
  const body = '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}'
  const answer = handshakeOf(notion({ secret, onSecret: (token) => void received.push(token) }), { body })
  expect(answer).toMatchObject({ ok: true, status: 200 })
  if (answer !== undefined && 'perform' in answer) await answer.perform?.()
  expect(received).toEqual(['secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl'])
  expect(handshakeOf(notion({ secret }), { body })).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
})

it('trello and intercom check the URL with HEAD', () => {
  const url = 'https://example.com/in/trello'
  expect(handshakeOf(trello({ secret, url }), { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  expect(handshakeOf(intercom({ secret }), { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  expect(handshakeOf(intercom({ secret }), { body: '{"topic":"ping"}' })).toBeUndefined()
})

it('mailchimp checks the URL with GET and the token', () => {
  const source = mailchimp({ secret })
  expect(handshakeOf(source, { method: 'GET', url: `/?token=${secret}` })).toMatchObject({ status: 200 })
  expect(handshakeOf(source, { method: 'GET', url: '/?token=x' })).toMatchObject({
    code: 'SIGNATURE_MISMATCH',
  })
})

describe('an unsigned ping', () => {
  it('of woocommerce is not a delivery, and a delivery that resembles it is not a ping', () => {
    const source = woocommerce({ secret })
    expect(handshakeOf(source, { body: 'webhook_id=12' })).toMatchObject({ ok: true, status: 200 })
    const signed = source.deliver({ body: '{"id":1,"note":"&webhook_id=12"}' })
    expect(handshakeOf(source, { body: String(signed.body), ...having(signed.headers) })).toBeUndefined()
  })

  it('of vercel is answered with its token', () => {
    const source = vercelLogDrains({ secret, settings: { verify: 'v-1' } })
    expect(handshakeOf(source, { body: '[]' })).toMatchObject({
      status: 200,
      headers: { 'x-vercel-verify': 'v-1' },
    })
    expect(source.acceptedHeaders).toEqual({ 'x-vercel-verify': 'v-1' })
    expect(handshakeOf(source, { body: '[]', ...having({ 'x-vercel-signature': '00' }) })).toBeUndefined()
  })
})

const NOW_MS = 1_700_000_000_000

function requestOf(delivery: Partial<Delivery> & { headers?: Record<string, string> }): Delivery {
  const { headers = {}, ...rest } = delivery
  return {
    method: 'GET',
    url: '/',
    header: (name) => headers[name],
    body: new Uint8Array(),
    receivedAtMs: NOW_MS,
    ...rest,
  }
}

describe('a challenge in the query', () => {
  it('is echoed to Nylas and Onfleet', () => {
    expect(nylas({ secret: 's' }).handshake?.(requestOf({ url: '/?challenge=c1' }))).toMatchObject({
      status: 200,
      body: 'c1',
    })
    const source = onfleet({ secret: 'aa' })
    expect(source.handshake?.(requestOf({ url: '/?check=c2' }))).toMatchObject({ body: 'c2' })
    expect(source.handshake?.(requestOf({ url: '/' }))).toBeUndefined()
  })

  it('is echoed to Strava as JSON, if it knows the verify token', () => {
    const source = strava({ secret: 's', settings: { verifyToken: 'known' } })
    const url = '/?hub.mode=subscribe&hub.challenge=c3&hub.verify_token='
    expect(source.handshake?.(requestOf({ url: `${url}known` }))).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: '{"hub.challenge":"c3"}',
    })
    expect(source.handshake?.(requestOf({ url: `${url}guessed` }))).toMatchObject({
      code: 'HANDSHAKE_REFUSED',
    })
  })

  it('is echoed to the hub of YouTube when it subscribes, and not when it unsubscribes', () => {
    const source = youtube({ secret: 's' })
    const url = '/?hub.topic=t&hub.challenge=c4&hub.lease_seconds=432000&hub.mode='
    expect(source.handshake?.(requestOf({ url: `${url}subscribe` }))).toMatchObject({ body: 'c4' })
    expect(source.handshake?.(requestOf({ url: `${url}unsubscribe` }))).toBeUndefined()
  })

  it('is signed for LinkedIn, unless the signature could serve as that of a delivery', () => {
    const source = linkedin({ secret: 's' })
    const challengeResponse = createHmac('sha256', 's').update('890e4665').digest('hex')
    expect(source.handshake?.(requestOf({ url: '/?challengeCode=890e4665' }))).toMatchObject({
      body: JSON.stringify({ challengeCode: '890e4665', challengeResponse }),
    })
    const forged = encodeURIComponent('hmacsha256={"type":"X"}')
    expect(source.handshake?.(requestOf({ url: `/?challengeCode=${forged}` }))).toMatchObject({ ok: false })
  })
})

describe('a challenge in a signed delivery', () => {
  it('is echoed to Twitch', () => {
    const source = twitch({ secret: 's' })
    const body = JSON.stringify({ challenge: 'c5', subscription: { type: 'channel.follow' } })
    const type = { 'twitch-eventsub-message-type': 'webhook_callback_verification' }
    const headers = source.sign({ body, headers: type, timestampMs: NOW_MS })
    const post = { method: 'POST', body: Buffer.from(body), headers }
    expect(source.handshake?.(requestOf(post))).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: 'c5',
    })
    expect(twitch({ secret: 'other' }).handshake?.(requestOf(post))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
  })

  it('is echoed to Front', () => {
    const source = front({ secret: 's' })
    const headers = source.sign({ body: '{}', headers: { 'x-front-challenge': 'c6' }, timestampMs: NOW_MS })
    const post = { method: 'POST', body: Buffer.from('{}'), headers }
    expect(source.handshake?.(requestOf(post))).toMatchObject({ body: 'c6' })
    expect(front({ secret: 'other' }).handshake?.(requestOf(post))).toMatchObject({ ok: false })
  })
})

it('a HEAD request of Mandrill is answered', () => {
  const source = mandrill({ secret: 's', url: 'https://example.com/' })
  expect(source.handshake?.(requestOf({ method: 'HEAD' }))).toMatchObject({ status: 200, body: '' })
})
