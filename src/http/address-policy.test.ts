import { expect, test } from 'vitest'
import { addressPolicy, allowedHost } from './address-policy.ts'

const METADATA = '169.254.169.254'

test('without an entry, only public addresses can be reached', () => {
  const policy = addressPolicy([])
  expect(policy.refusal('app.example', '1.1.1.1')).toBeUndefined()
  expect(policy.refusal('app.example', '10.0.0.3')).toBe(
    'app.example resolves to 10.0.0.3, a private address; to allow it, add "allowPrivate": ["app.example"]',
  )
  expect(policy.refusal('[::1]', '[::1]')).toBe(
    '::1 is a loopback address; to allow it, add "allowPrivate": ["::1"]',
  )
  expect(policy.refusal('app.example', 'nonsense')).toContain('which is not an address')
})

test('a name allows its private addresses, but neither metadata nor link-local ones', () => {
  const policy = addressPolicy(['app.internal', '*.svc.local'])
  expect(policy.refusal('app.internal', '10.0.0.3')).toBeUndefined()
  expect(policy.refusal('App.Internal.', '127.0.0.1')).toBeUndefined()
  expect(policy.refusal('a.b.svc.local', 'fd00::1')).toBeUndefined()
  expect(policy.refusal('svc.local', '10.0.0.3')).toBeDefined()
  expect(policy.refusal('other.internal', '10.0.0.3')).toBeDefined()
  expect(policy.refusal('notapp.internal', '10.0.0.3')).toBeDefined()
  for (const address of [METADATA, '169.254.1.1', '0.0.0.0', '224.0.0.1', 'fd00:ec2::254'])
    expect(policy.refusal('app.internal', address)).toContain(`"allowPrivate": ["${address}"]`)
})

test('a range allows its addresses, in every spelling, but no metadata', () => {
  const policy = addressPolicy(['10.0.0.0/8', '169.254.0.0/16', 'fd00::/8', '0.0.0.0/0'])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '64:ff9b::a01:203', '169.254.1.1', 'fd00::1'])
    expect(policy.refusal('any.example', address)).toBeUndefined()
  expect(policy.refusal('any.example', '::1')).toBeDefined()
  expect(policy.refusal('any.example', METADATA)).toBeDefined()
  expect(policy.refusal('any.example', 'fd00:ec2::254')).toBeDefined()
  expect(addressPolicy([METADATA]).refusal('any.example', `::ffff:${METADATA}`)).toBeUndefined()
})

test.each([
  ['localhost', []],
  ['app.localhost', []],
  ['127.0.0.1', ['localhost', '10.0.0.0/8']],
])('%s is refused before any lookup, with %j', (host, allowed) => {
  expect(addressPolicy(allowed).refusalOf(host)).toContain('a loopback address')
})

test.each([
  ['localhost', ['localhost']],
  ['localhost', ['127.0.0.0/8']],
  ['localhost', ['::1']],
  ['127.0.0.1', ['127.0.0.1']],
  ['app.internal', []],
  ['1.1.1.1', []],
])('%s is not refused before a lookup, with %j', (host, allowed) => {
  expect(addressPolicy(allowed).refusalOf(host)).toBeUndefined()
})

test.each(['app', 'app.internal', '*.internal', '10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8', 'my_app'])(
  '"%s" can be allowed',
  (entry) => {
    expect(allowedHost.parse(entry)).toBe(entry)
  },
)

test.each([
  '',
  '*',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0/8',
  '127.1',
  'http://app',
  'app:80',
  'a/8',
  '::/129',
])('"%s" cannot be allowed', (entry) => {
  expect(() => allowedHost.parse(entry)).toThrow('expected a host name')
})
