import { describe, expect, it } from 'vitest'
import { github, sign, standardWebhooks, stripe } from './index.ts'

describe('sign', () => {
  it('returns all headers of the delivery, by lower-case name', () => {
    const source = github({ secret: 'x' })
    expect(sign(source, { body: '{}', id: 'd-1', headers: { 'X-GitHub-Event': 'ping' } })).toEqual({
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': 'd-1',
      'x-hub-signature-256': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    })
  })

  it('signs with the current time if no date is given', () => {
    const source = stripe({ secret: 'x' })
    const headers = sign(source, { body: '{}' })
    const body = Buffer.from('{}')
    const delivery = {
      method: 'POST',
      url: '/',
      header: (name: string) => headers[name],
      body,
      receivedAtMs: Date.now(),
    }
    expect(source.verify(delivery)).toEqual({ ok: true, secret: 1 })
  })

  it('makes up an id if the provider sends one in a header', () => {
    const source = standardWebhooks({ secret: 'c2VjcmV0' })
    const ids = [1, 2].map(() => sign(source, { body: '{}' })['webhook-id'])
    expect(ids[0]).not.toBe(ids[1])
    expect(sign(source, { body: '{}', headers: { 'Webhook-Id': 'kept' } })['webhook-id']).toBe('kept')
  })

  it('refuses to sign a delivery that it would not verify', () => {
    expect(() => sign(standardWebhooks({ secret: 'c2VjcmV0' }), { body: '{}', id: 'ā' })).toThrow(
      /SIGNATURE_MALFORMED/,
    )
  })
})
