import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import { front, linkedin, mandrill, nylas, onfleet, strava, twitch, youtube } from '../index.ts'

/* Handshakes that the vendors describe. Each provider lists the evidence. */

const NOW_MS = 1_700_000_000_000

function asked(delivery: Partial<Delivery> & { headers?: Record<string, string> }): Delivery {
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
    expect(nylas({ secret: 's' }).handshake?.(asked({ url: '/?challenge=c1' }))).toMatchObject({
      status: 200,
      body: 'c1',
    })
    const source = onfleet({ secret: 'aa' })
    expect(source.handshake?.(asked({ url: '/?check=c2' }))).toMatchObject({ body: 'c2' })
    expect(source.handshake?.(asked({ url: '/' }))).toBeUndefined()
  })

  it('is echoed to Strava as JSON, if it knows the verify token', () => {
    const source = strava({ secret: 's', settings: { verifyToken: 'known' } })
    const url = '/?hub.mode=subscribe&hub.challenge=c3&hub.verify_token='
    expect(source.handshake?.(asked({ url: `${url}known` }))).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: '{"hub.challenge":"c3"}',
    })
    expect(source.handshake?.(asked({ url: `${url}guessed` }))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
  })

  it('is echoed to the hub of YouTube for a subscription, and not for its end', () => {
    const source = youtube({ secret: 's' })
    const url = '/?hub.topic=t&hub.challenge=c4&hub.lease_seconds=432000&hub.mode='
    expect(source.handshake?.(asked({ url: `${url}subscribe` }))).toMatchObject({ body: 'c4' })
    expect(source.handshake?.(asked({ url: `${url}unsubscribe` }))).toBeUndefined()
  })

  it('is signed for LinkedIn, but nothing that could be a delivery', () => {
    const source = linkedin({ secret: 's' })
    const challengeResponse = createHmac('sha256', 's').update('890e4665').digest('hex')
    expect(source.handshake?.(asked({ url: '/?challengeCode=890e4665' }))).toMatchObject({
      body: JSON.stringify({ challengeCode: '890e4665', challengeResponse }),
    })
    const forged = encodeURIComponent('hmacsha256={"type":"X"}')
    expect(source.handshake?.(asked({ url: `/?challengeCode=${forged}` }))).toMatchObject({ ok: false })
  })
})

describe('a challenge in a signed delivery', () => {
  it('is echoed to Twitch', () => {
    const source = twitch({ secret: 's' })
    const body = JSON.stringify({ challenge: 'c5', subscription: { type: 'channel.follow' } })
    const type = { 'twitch-eventsub-message-type': 'webhook_callback_verification' }
    const headers = source.sign({ body, headers: type, timestampMs: NOW_MS })
    const post = { method: 'POST', body: Buffer.from(body), headers }
    expect(source.handshake?.(asked(post))).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: 'c5',
    })
    expect(twitch({ secret: 'other' }).handshake?.(asked(post))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('is echoed to Front', () => {
    const source = front({ secret: 's' })
    const headers = source.sign({ body: '{}', headers: { 'x-front-challenge': 'c6' }, timestampMs: NOW_MS })
    const post = { method: 'POST', body: Buffer.from('{}'), headers }
    expect(source.handshake?.(asked(post))).toMatchObject({ body: 'c6' })
    expect(front({ secret: 'other' }).handshake?.(asked(post))).toMatchObject({ ok: false })
  })
})

it('a HEAD request of Mandrill is answered', () => {
  const source = mandrill({ secret: 's', url: 'https://example.com/' })
  expect(source.handshake?.(asked({ method: 'HEAD' }))).toMatchObject({ status: 200, body: '' })
})
