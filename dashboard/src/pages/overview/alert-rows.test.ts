import { expect, test } from 'vitest'
import { isShown, isUnsigned, targetOf } from './alert-rows.ts'

const alert = (rule: string, subscriber = '') => ({ rule, tenant: 'default', source: 'shop', subscriber })
const nothing = { attention: [], failures: [], circuits: [], rejections: [] }

test('a rejection because of its time is a rejection because of its signature', () => {
  const codes = ['SIGNATURE_MISMATCH', 'TIMESTAMP_TOO_OLD', 'TIMESTAMP_IN_FUTURE', 'SOURCE_UNKNOWN']
  expect(codes.filter((code) => isUnsigned({ code }))).toEqual(codes.slice(0, 3))
})

test('an alert is omitted only if another row shows its condition', () => {
  for (const rule of [
    'attention',
    'failures',
    'circuit',
    'signatures',
    'silence',
    'a rule of a later release',
  ])
    expect(isShown(alert(rule, 'crm'), nothing)).toBe(false)
  const circuits = [{ tenant: 'default', subscriber: 'crm' }]
  expect(isShown(alert('circuit', 'crm'), { ...nothing, circuits })).toBe(true)
  expect(isShown(alert('circuit', 'mail'), { ...nothing, circuits })).toBe(false)
  expect(isShown(alert('signatures'), { ...nothing, rejections: [{ source: 'default/shop' }] })).toBe(true)
  expect(isShown(alert('signatures'), { ...nothing, rejections: [{ source: 'other' }] })).toBe(false)
  expect(isShown(alert('attention'), { ...nothing, attention: [{}] })).toBe(true)
  expect(isShown(alert('failures'), { ...nothing, failures: [{}] })).toBe(true)
})

test('an alert leads to the thing that it is about', () => {
  expect(targetOf(alert('silence'))).toEqual({ path: '/events', query: { q: 'source:shop' } })
  expect(targetOf({ ...alert('retries', 'crm'), tenant: 'acme' })).toEqual({
    path: '/events',
    query: { q: 'tenant:acme source:shop subscriber:crm state:retrying' },
  })
  expect(targetOf(alert('circuit'))).toEqual({ path: '/destinations' })
  expect(targetOf(alert('a rule of a later release'))).toEqual({
    path: '/settings',
    query: { tab: 'alerts' },
  })
})
