import { expect, test } from 'vitest'
import { hasColours, styleOf } from './style.ts'

const terminal = { isTTY: true }
const pipe = {}

test.each([
  ['a terminal', terminal, {}, true],
  ['a pipe', pipe, {}, false],
  ['a terminal with NO_COLOR', terminal, { NO_COLOR: '1' }, false],
  ['a terminal with an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
  ['a dumb terminal', terminal, { TERM: 'dumb' }, false],
  ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true],
  ['a terminal with FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ['a pipe with both', pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('%s gets colours as documented', (_, output, env, expected) => {
  expect(hasColours(output, env)).toBe(expected)
  expect(styleOf(output, env).red('x')).toBe(expected ? '\x1b[31mx\x1b[39m' : 'x')
})
