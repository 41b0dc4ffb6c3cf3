import { expect, test } from 'vitest'
import { checkDescription, type ProviderDescription } from '../sources/description.ts'
import { forwardable } from './headers.ts'

const describedWith = (signature: ProviderDescription['signature']) =>
  checkDescription({ provider: 'acme', signature, event: { key: 'header:x-acme-id' } })

test.each([
  ['a token in a header', { algorithm: 'token', header: 'X-Acme-Token' }],
  ['a token at a place in a header', { algorithm: 'token', at: 'header:X-Acme-Token' }],
] as const)('%s is not forwarded, not even if the destination lists it', (_, signature) => {
  const isForwarded = forwardable(describedWith(signature), ['x-acme-token', 'x-acme-*'])
  expect(isForwarded('x-acme-token')).toBe(false)
  expect(isForwarded('x-acme-id')).toBe(true)
  expect(isForwarded('x-acme-other')).toBe(true)
})

test('the header of a signature is forwarded', () => {
  const signature = { algorithm: 'hmac-sha256', header: 'X-Acme-Signature', encoding: 'hex' } as const
  expect(forwardable(describedWith(signature), [])('x-acme-signature')).toBe(true)
})
