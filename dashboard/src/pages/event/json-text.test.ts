import { expect, test } from 'vitest'
import { type JsonNode, parseJson } from './json-text.ts'

/** Converts a tree back to text, to compare it with JSON.stringify. */
function textOf(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return `{${node.entries.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(',')}}`
    case 'array':
      return `[${node.items.map(textOf).join(',')}]`
    case 'string':
      return JSON.stringify(node.value)
    default:
      return node.text
  }
}

test('a document is read back unchanged, with every digit of its numbers', () => {
  const text =
    '{"id":12345678901234567890123,"a":[1.10,-0,1e400,true,false,null,{}],"b":{"c":[]},"d":"\\u00e4\\"<b>\\n"}'
  const parsed = parseJson(` ${text}\n`)
  expect(parsed && textOf(parsed)).toBe(text.replace('\\u00e4', 'ä'))
})

test('both values of a duplicate name are shown', () => {
  expect(parseJson('{"a":1,"a":2}')).toEqual({
    kind: 'object',
    entries: [
      ['a', { kind: 'number', text: '1' }],
      ['a', { kind: 'number', text: '2' }],
    ],
  })
})

test.each(['', '{', '[1,]', '{"a"}', '01', '"a', '{"a":1}x', "{'a':1}", '"\n"', 'nul', '+1', '.5'])(
  '%s is not JSON',
  (text) => {
    expect(parseJson(text)).toBeUndefined()
    expect(() => JSON.parse(text)).toThrow()
  },
)

test('a document that is too deep for a tree stays text', () => {
  expect(parseJson('['.repeat(10_000) + ']'.repeat(10_000))).toBeUndefined()
})
