import { expect, test } from 'vitest'
import { addressSet, clientAddress, parseRange } from './addresses.ts'

test.each(['192.0.2.0/24', '192.0.2.1', '2001:db8::/32', '::1', '0.0.0.0/0'])('%s is a range', (text) => {
  expect(parseRange(text)).toBeDefined()
})

test.each([
  '',
  'example.com',
  '192.0.2.0/33',
  '192.0.2.0/',
  '192.0.2/24',
  '::/129',
  '1.1.1.1/8/8',
  '1.1.1.1/-1',
])('"%s" is not a range', (text) => {
  expect(parseRange(text)).toBeUndefined()
})

test('an address is in a set by its range, in both families', () => {
  const isIn = addressSet(['192.0.2.0/24', '2001:db8::/32', '203.0.113.7'])
  expect(['192.0.2.200', '2001:db8:1::1', '203.0.113.7'].map(isIn)).toEqual([true, true, true])
  expect(['192.0.3.1', '2001:db9::1', '203.0.113.8', 'localhost'].map(isIn)).toEqual([
    false,
    false,
    false,
    false,
  ])
})

const proxies = addressSet(['10.0.0.0/8', '127.0.0.1'])

test.each([
  { name: 'a direct client', peer: '192.0.2.1', header: undefined, client: '192.0.2.1' },
  { name: 'a client that lies', peer: '192.0.2.1', header: '203.0.113.7', client: '192.0.2.1' },
  { name: 'one proxy', peer: '10.0.0.1', header: '203.0.113.7', client: '203.0.113.7' },
  { name: 'a lie before the proxy', peer: '10.0.0.1', header: '1.1.1.1, 203.0.113.7', client: '203.0.113.7' },
  { name: 'two proxies', peer: '127.0.0.1', header: '203.0.113.7, 10.0.0.9', client: '203.0.113.7' },
  {
    name: 'an IPv4 address as IPv6',
    peer: '::ffff:10.0.0.1',
    header: '203.0.113.7:1234',
    client: '203.0.113.7',
  },
  { name: 'brackets', peer: '10.0.0.1', header: '[2001:db8::1]:443', client: '2001:db8::1' },
  { name: 'a proxy without a header', peer: '10.0.0.1', header: undefined, client: '10.0.0.1' },
  { name: 'no address in the header', peer: '10.0.0.1', header: 'unknown', client: undefined },
  { name: 'no peer', peer: undefined, header: '203.0.113.7', client: undefined },
])('the client of $name', ({ peer, header, client }) => {
  expect(clientAddress(peer, header, proxies)).toBe(client)
})
