import { expect, test } from 'vitest'
import { safe, safeBlock, table } from './print.ts'

test('a terminal is not made to obey what came from outside', () => {
  expect(safe('\u001b[2Jgone\r\nnext\u0085\u009b31m\u007f')).toBe(
    '\uFFFD[2Jgone\uFFFD\uFFFDnext\uFFFD\uFFFD31m\uFFFD',
  )
  expect(safe('plain é 🪝')).toBe('plain é 🪝')
})

test('a body keeps its lines and tabs, and loses what a terminal would obey', () => {
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
