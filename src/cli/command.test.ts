import { expect, test } from 'vitest'
import { parse, parseDuration, parsePort } from './command.ts'

const command = { usage: 'hookonce test [--limit N]' }

test.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['2h', 7_200_000],
  ['7d', 604_800_000],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(command, text)).toBe(ms)
})

test.each(['', '2', 'h', '-1h', '1.5h', '2 h', '2w'])(
  'the duration "%s" is refused with the allowed forms',
  (text) => {
    expect(() => parseDuration(command, text)).toThrow('90s, 15m, 2h or 7d')
  },
)

test.each(['', '-1', '65536', '80.5', 'http'])('the port "%s" is refused with the usage', (text) => {
  // Number('') is 0, and port 0 means any free port. Any free port must be requested explicitly.
  expect(() => parsePort(command, text)).toThrow('hookonce test [--limit N]')
})

test('an unknown option is refused with the usage', () => {
  expect(() => parse(command, ['--colour'], { limit: { type: 'string' } })).toThrow('unknown option --colour')
  expect(() => parse(command, ['--colour'], { limit: { type: 'string' } })).toThrow(
    'hookonce test [--limit N]',
  )
})

test('a command accepts as many arguments as it declares, and none by default', () => {
  const limit = { limit: { type: 'string' } } as const
  expect(parse({ ...command, words: 1 }, ['a', '--limit', '3'], limit)).toMatchObject({
    values: { limit: '3' },
    positionals: ['a'],
  })
  expect(() => parse({ ...command, words: 1 }, ['a', 'b'], limit)).toThrow('unexpected argument "b"')
  expect(() => parse(command, ['a', '--limit', '3'], limit)).toThrow('unexpected argument "a"')
})

test('a misspelt option gets a suggestion', () => {
  const limit = { limit: { type: 'string' } } as const
  expect(() => parse(command, ['--limt', '3'], limit)).toThrow(
    'unknown option --limt (did you mean "--limit"?)',
  )
})
