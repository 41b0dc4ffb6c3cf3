import { expect, test } from 'vitest'
import { fitScreen, screenOf } from './fit-screen.ts'

const rows = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${n + 1}`)

test('sections that fit are shown in full, without the empty ones', () => {
  const sections = [{ head: ['fact'] }, { head: [], rows: [] }, { head: ['NAME'], rows: rows('a', 2) }]
  expect(fitScreen(sections, { rows: 6, columns: 80 })).toBe('fact\n\nNAME\na 1\na 2')
})

test('the longest sections lose rows first, and each counts what is left out', () => {
  const sections = [
    { head: ['fact'] },
    { head: ['A'], rows: rows('a', 10), foot: ['idle'] },
    { rows: rows('b', 2) },
  ]
  const text = fitScreen(sections, { rows: 12, columns: 80 })
  expect(text).toBe('fact\n\nA\na 1\na 2\na 3\n… and 7 more: --json lists all\nidle\n\nb 1\nb 2')
})

test('a line that wraps counts as several, and colours take no space', () => {
  const wide = [1, 2, 3].map((n) => `${n} ${'x'.repeat(20)}`)
  const text = fitScreen([{ rows: wide }, { rows: rows('b', 2) }], { rows: 8, columns: 12 })
  expect(text).toBe(`${wide[0]}\n… and 2 more: --json lists all\n\nb 1\n… and 1 more: --json lists all`)
  const red = rows('a', 3).map((row) => `\x1b[31m${row}\x1b[39m`)
  expect(fitScreen([{ rows: red }], { rows: 4, columns: 3 })).toBe(red.join('\n'))
})

test('every section keeps a row on the smallest screen', () => {
  const text = fitScreen([{ rows: rows('a', 9) }, { rows: rows('b', 9) }], { rows: 2, columns: 80 })
  expect(text).toMatch(/^a 1\n….*8 more.*\n\nb 1\n….*8 more.*$/)
})

test('without a terminal the output has the length of a large screen', () => {
  const text = fitScreen([{ rows: rows('a', 200) }], screenOf({}))
  expect(text.split('\n')).toHaveLength(49)
  expect(text).toContain('a 48\n… and 152 more: --json lists all')
})
