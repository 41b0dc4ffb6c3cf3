import { expect, test } from 'vitest'
import { attempts } from './attempts.ts'

test('ten failures block an address until the minute is over, and no other address', () => {
  let now = 0
  const limit = attempts(() => now)
  for (let n = 0; n < 10; n += 1) {
    expect(() => limit.check('192.0.2.1')).not.toThrow()
    limit.failed('192.0.2.1')
  }
  now = 1_000
  expect(() => limit.check('192.0.2.1')).toThrow(
    'TOO_MANY_ATTEMPTS: 10 requests with a wrong token; wait 59 s',
  )
  expect(() => limit.check('192.0.2.2')).not.toThrow()
  now = 60_000
  expect(() => limit.check('192.0.2.1')).not.toThrow()
})

test('the addresses of one IPv6 network count as one', () => {
  const limit = attempts(() => 0)
  for (let n = 0; n < 10; n += 1) limit.failed(`2001:db8:1:2::${n}`)
  expect(() => limit.check('2001:db8:1:2::ffff')).toThrow('TOO_MANY_ATTEMPTS')
  expect(() => limit.check('2001:db8:1:3::1')).not.toThrow()
})

test('a thousand addresses are remembered, and one more replaces the oldest', () => {
  const limit = attempts(() => 0)
  for (let n = 0; n < 10; n += 1) limit.failed('oldest')
  for (let n = 0; n < 999; n += 1) limit.failed(`address ${n}`)
  expect(() => limit.check('oldest')).toThrow('TOO_MANY_ATTEMPTS')
  limit.failed('one more')
  expect(() => limit.check('oldest')).not.toThrow()
})
