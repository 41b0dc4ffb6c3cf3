import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commented, literal, quoted } from './source-text.ts'

/** Texts that end quotes, templates and comments, and invisible characters. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        "'",
        '`',
        '${',
        '}',
        '\\',
        '\n',
        '\r',
        '\t',
        '//',
        '*/',
        '\u2028',
        '\u202e',
        '\ufeff',
        'u',
        'é',
      ),
    )
    .map((parts) => parts.join('')),
)
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** The value that the JavaScript engine reads. */
function evaluated(source: string): unknown {
  return new Function(`return ${source}`)()
}

test('any text is read back unchanged, and shows nothing invisible', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(evaluated(quoted(text))).toBe(text)
      expect(quoted(text)).not.toMatch(INVISIBLE)
      expect(evaluated(literal(text))).toBe(text)
      expect(literal(text).replace(/[\n\t]/g, '')).not.toMatch(INVISIBLE)
    }),
  )
})

test('any text is a comment that ends with its line', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(evaluated(`7 // ${commented(text)}\n`)).toBe(7)
      expect(commented(text)).not.toMatch(INVISIBLE)
    }),
  )
  expect(commented('é'.repeat(200))).toBe(`${'é'.repeat(160)}…`)
})

test('a text with lines, quotes or backslashes is a raw template, if possible', () => {
  expect(literal('{"a":1}')).toBe(`'{"a":1}'`)
  expect(literal('{\n  "a": "\\n"\n}')).toBe('String.raw`{\n  "a": "\\n"\n}`')
  expect(literal('{"a":"`"}\n')).toBe(`'{"a":"\`"}\\n'`)
})
