import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compactJson, elementsOf, membersOf } from './json-text.ts'

test('values keep their digits, escapes and order', () => {
  const text =
    '{ "data" : [ {"id": 12345678901234567890, "a\\"b": "x , ] \\\\"},\n [1.0, {}] , null ] , "more":false }'
  const members = membersOf(text)
  expect([...members.keys()]).toEqual(['data', 'more'])
  expect(elementsOf(members.get('data') ?? '')).toEqual([
    '{"id":12345678901234567890,"a\\"b":"x , ] \\\\"}',
    '[1.0,{}]',
    'null',
  ])
  expect(members.get('more')).toBe('false')
})

test('other values have neither members nor elements', () => {
  for (const text of ['"{}"', '1', 'null', '{}', ' [ ] ']) {
    expect(membersOf(text).size).toBe(0)
    expect(elementsOf(text)).toEqual([])
  }
})

test('for any value and indentation, the parts are those that JSON.parse finds', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2, '\t', '\r\n '), (json, indentation) => {
      const value: unknown = JSON.parse(json)
      const text = JSON.stringify(value, null, indentation)
      expect(compactJson(text)).toBe(JSON.stringify(value))
      if (Array.isArray(value)) expect(elementsOf(text).map((part) => JSON.parse(part))).toEqual(value)
      else if (typeof value === 'object' && value !== null) {
        const members = [...membersOf(text)].map(([name, part]) => [name, JSON.parse(part) as unknown])
        expect(members).toEqual(Object.entries(value))
      }
    }),
  )
})
