import { expect, test } from 'vitest'
import { aliased, type Change, differences, isEventDate, leaves, maskOf, withoutRepeats } from './changes.ts'

const row = (fields: Record<string, string>, kind: Change['kind'] = 'inserted'): Change => ({
  where: 'public.payment',
  kind,
  fields,
})
const call = (key?: string): Change => ({ where: 'POST /emails', kind: 'called', fields: { to: 'a' }, key })

test('fields that differ between two baselines are masked, other fields are compared', () => {
  const mask = maskOf([row({ id: '1', amount: '5' })], [row({ id: '2', amount: '5' })])
  expect([...mask]).toEqual(['public.payment|inserted|id'])
  expect(differences([row({ id: '2', amount: '5' })], [row({ id: '3', amount: '5' })], mask)).toEqual([])
  expect(differences([row({ id: '2', amount: '5' })], [row({ id: '3', amount: '6' })], mask)).toHaveLength(1)
})

test('an extra row is doubled, a missing row is lost', () => {
  const none = new Set<string>()
  const [more] = differences([row({ a: '1' })], [row({ a: '1' }), row({ a: '1' })], none)
  const [less] = differences([row({ a: '1' })], [], none)
  expect([more?.kind, less?.kind]).toEqual(['doubled', 'lost'])
})

test('a sum that grew twice is doubled, another text is different', () => {
  const none = new Set<string>()
  const [sum] = differences([row({ total: '+10' }, 'updated')], [row({ total: '+20' }, 'updated')], none)
  const [text] = differences([row({ state: 'paid' })], [row({ state: 'open' })], none)
  expect([sum?.kind, text?.kind]).toEqual(['doubled', 'different'])
})

test('calls under one key count once, calls without a key count each time', () => {
  expect(withoutRepeats([call('k'), call('k'), call('other')])).toMatchObject({ repeated: 1 })
  expect(withoutRepeats([call(), call()]).changes).toHaveLength(2)
})

test('ids become names, also inside longer texts and as numbers', () => {
  const aliases = [['1234567890', '<object>']] as const
  expect(aliased('receipt-1234567890', aliases)).toBe('receipt-<object>')
  expect(aliased(1_234_567_890, aliases)).toBe('<object>')
  expect(leaves({ a: [{ b: 1 }], c: null })).toEqual([
    ['a[0].b', 1],
    ['c', null],
  ])
})

test('a time of this run is not the date of an event, although both have the same second', () => {
  const aliases = [
    ['2026-11-19T02:00:00+00:00', '<date of newer>'],
    ['2026-11-19T02:00:00', '<date of newer>'],
  ] as const
  const isDate = (text: string): boolean => isEventDate(aliased(text, aliases))
  expect([isDate('2026-11-19T02:00:00+00:00'), isDate('2026-11-19T02:00:00')]).toEqual([true, true])
  expect(isDate('2026-11-19T02:00:00.123456+00:00')).toBe(false)
})
