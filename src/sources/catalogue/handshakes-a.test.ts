import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import {
  intercom,
  mailchimp,
  monday,
  notion,
  okta,
  type SigningSource,
  trello,
  vercelLogDrains,
  whatsapp,
  woocommerce,
} from '../index.ts'

/* Handshake requests as the providers' documents show them. */

const secret = 'a-secret'

function ask(source: SigningSource, request: Partial<Omit<Delivery, 'body'>> & { body?: string } = {}) {
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
  it('of whatsapp is echoed to who knows the verify token', () => {
    const source = whatsapp({ secret, settings: { verifyToken: 'right' } })
    const url = (token: string) => `/?hub.mode=subscribe&hub.challenge=11582&hub.verify_token=${token}`
    expect(ask(source, { method: 'GET', url: url('right') })).toMatchObject({ status: 200, body: '11582' })
    expect(ask(source, { method: 'GET', url: url('wrong') })).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
  })

  it('of okta and monday is echoed as JSON', () => {
    const request = { method: 'GET', ...having({ 'x-okta-verification-challenge': 'abc' }) }
    expect(ask(okta({ secret }), request)).toMatchObject({ status: 200, body: '{"verification":"abc"}' })
    expect(ask(monday({ secret }), { body: '{"challenge":"3eZ"}' })).toMatchObject({
      status: 200,
      body: '{"challenge":"3eZ"}',
    })
    expect(ask(monday({ secret }), { body: '{"event":{"type":"x"}}' })).toBeUndefined()
  })
})

it('the token of notion is handed over', async () => {
  const brought: string[] = []
  const body = '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}'
  const answer = ask(notion({ secret, onSecret: (token) => void brought.push(token) }), { body })
  expect(answer).toMatchObject({ ok: true, status: 200 })
  if (answer !== undefined && 'perform' in answer) await answer.perform?.()
  expect(brought).toEqual(['secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl'])
  expect(ask(notion({ secret }), { body })).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
})

it('trello and intercom look by HEAD', () => {
  const url = 'https://example.com/in/trello'
  expect(ask(trello({ secret, url }), { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  expect(ask(intercom({ secret }), { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  expect(ask(intercom({ secret }), { body: '{"topic":"ping"}' })).toBeUndefined()
})

it('mailchimp looks by GET, with the token', () => {
  const source = mailchimp({ secret })
  expect(ask(source, { method: 'GET', url: `/?token=${secret}` })).toMatchObject({ status: 200 })
  expect(ask(source, { method: 'GET', url: '/?token=x' })).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
})

describe('an unsigned ping', () => {
  it('of woocommerce is no delivery, and a delivery is no ping', () => {
    const source = woocommerce({ secret })
    expect(ask(source, { body: 'webhook_id=12' })).toMatchObject({ ok: true, status: 200 })
    const signed = source.deliver({ body: '{"id":1,"note":"&webhook_id=12"}' })
    expect(ask(source, { body: String(signed.body), ...having(signed.headers) })).toBeUndefined()
  })

  it('of vercel is answered with its token', () => {
    const source = vercelLogDrains({ secret, settings: { verify: 'v-1' } })
    expect(ask(source, { body: '[]' })).toMatchObject({ status: 200, headers: { 'x-vercel-verify': 'v-1' } })
    expect(source.acceptedHeaders).toEqual({ 'x-vercel-verify': 'v-1' })
    expect(ask(source, { body: '[]', ...having({ 'x-vercel-signature': '00' }) })).toBeUndefined()
  })
})
