import { expect, test } from 'vitest'
import { safe, safeBlock, table, withoutPassword } from './print.ts'

test('control characters from outside do not reach the terminal', () => {
  expect(safe('\u001b[2Jgone\r\nnext\u0085\u009b31m\u007f')).toBe(
    '\uFFFD[2Jgone\uFFFD\uFFFDnext\uFFFD\uFFFD31m\uFFFD',
  )
  expect(safe('plain é 🪝')).toBe('plain é 🪝')
})

test.each([
  ['left-to-right and right-to-left marks', '\u200e\u200f\u061c'],
  ['embeddings and overrides', '\u202a\u202b\u202c\u202d\u202e'],
  ['isolates', '\u2066\u2067\u2068\u2069'],
  ['separators of lines and paragraphs', '\u2028\u2029'],
])('%s cannot make a text look like another text', (_, characters) => {
  for (const character of characters) {
    expect(safe(`paid${character}x`)).toBe('paid\uFFFDx')
    expect(safeBlock(`paid${character}x`)).toBe('paid\uFFFDx')
  }
  expect(safe('שלום مرحبا')).toBe('שלום مرحبا')
})

test.each([
  ['postgres://anna:s%40cret@db:5432/app?sslmode=require', 'postgres://anna@db:5432/app?sslmode=require'],
  ['postgres://anna@db/app?password=s3cret&x=1', 'postgres://anna@db/app?x=1'],
  ['postgres://db/app', 'postgres://db/app'],
  ['postgres://anna:s3cret@[bad/app', 'postgres://…'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})

test('a body keeps its lines and tabs, without control characters', () => {
  expect(safeBlock('{\n\t"a": "\u001b[31m"\r}')).toBe('{\n\t"a": "\uFFFD[31m"\uFFFD}')
})

test('a table is as wide as its widest cells, without trailing blanks', () => {
  expect(
    table(
      ['A', 'LONG'],
      [
        ['wider', 'x'],
        ['y', ''],
      ],
    ),
  ).toBe(['A      LONG', 'wider  x', 'y'].join('\n'))
})

test('colours do not move the columns of a table', () => {
  const coloured = table(
    ['STATE', 'ID'],
    [
      ['\u001b[31mfailed\u001b[39m', '1'],
      ['processed', '2'],
    ],
  )
  expect(coloured.split('\n').slice(1)).toEqual(['\u001b[31mfailed\u001b[39m     1', 'processed  2'])
})
