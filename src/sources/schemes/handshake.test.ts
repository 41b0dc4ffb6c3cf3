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
  it('may be recognised by a header that is absent', () => {
    const answer = answering([{ method: 'POST', when: { 'header:x-sig': false }, signed: false }])
    expect(answer('{}')).toMatchObject({ ok: true, status: 200 })
    expect(answer('{}', { 'x-sig': '00' })).toBeUndefined()
  })

  it('is refused unless the token is exactly the expected text', () => {
    const source = custom({
      secret: 's',
      signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
      event: { key: 'json:id' },
      settings: { verifyToken: 'open' },
      handshake: [{ method: 'POST', when: { 'json:token': true }, token: 'json:token', signed: false }],
    })
    const answer = (body: string) =>
      source.handshake?.({
        method: 'POST',
        url: '/',
        header: () => undefined,
        body: Buffer.from(body),
        receivedAtMs: 0,
      })
    expect(answer('{"token":"open"}')).toMatchObject({ ok: true })
    for (const token of ['"shut"', '{"toString":1,"valueOf":1}', '["open"]', 'null', '1'])
      expect(answer(`{"token":${token}}`)).not.toMatchObject({ ok: true })
  })

  it('may be a form although deliveries are JSON', () => {
    const answer = answering([
      { method: 'POST', when: { 'form:webhook_id': true, 'header:x-sig': false }, signed: false },
    ])
    expect(answer('webhook_id=7')).toMatchObject({ ok: true, status: 200 })
    expect(answer('{"id":1}')).toBeUndefined()
    // A signed delivery that contains the same words is not a handshake.
    expect(answer('{"note":"a&webhook_id=7"}', { 'x-sig': '00' })).toBeUndefined()
  })
})
