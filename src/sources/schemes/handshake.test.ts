import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import { type CustomOptions, custom } from '../index.ts'

function answering(handshake: NonNullable<CustomOptions['handshake']>) {
  const source = custom({
    secret: 's',
    signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
    event: { key: 'json:id' },
    handshake,
  })
  return (body: string, headers: Record<string, string> = {}) => {
    const delivery: Delivery = {
      method: 'POST',
      url: '/',
      header: (name) => headers[name],
      body: Buffer.from(body),
      receivedAtMs: 0,
    }
    return source.handshake?.(delivery)
  }
}

describe('a handshake', () => {
  it('may be known by what is not there', () => {
    const answer = answering([{ method: 'POST', when: { 'header:x-sig': false }, signed: false }])
    expect(answer('{}')).toMatchObject({ ok: true, status: 200 })
    expect(answer('{}', { 'x-sig': '00' })).toBeUndefined()
  })

  it('may be a form where deliveries are JSON', () => {
    const answer = answering([
      { method: 'POST', when: { 'form:webhook_id': true, 'header:x-sig': false }, signed: false },
    ])
    expect(answer('webhook_id=7')).toMatchObject({ ok: true, status: 200 })
    expect(answer('{"id":1}')).toBeUndefined()
    // A signed delivery that holds the words is no handshake.
    expect(answer('{"note":"a&webhook_id=7"}', { 'x-sig': '00' })).toBeUndefined()
  })
})
