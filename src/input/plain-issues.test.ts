import { expect, test } from 'vitest'
import { z } from 'zod'
import { check, strict } from './checked.ts'

const schema = strict({
  number: z.number().positive().max(10).optional(),
  least: z.number().min(2).optional(),
  timeoutMs: z.number().optional(),
  whole: z.int().optional(),
  flag: z.boolean().optional(),
  word: z.enum(['viewer', 'operator', 'admin']).optional(),
  off: z.literal('off').optional(),
  text: z.string().min(1).max(5).optional(),
  list: z.array(z.string()).min(1).max(2).optional(),
  code: z.string().length(3).optional(),
  deep: strict({ inner: z.string() }).optional(),
  url: z.url().optional(),
  own: z.string({ error: 'must be a name of your own' }).optional(),
  time: z.iso.datetime().optional(),
  either: z.union([z.string(), strict({ a: z.number() })]).optional(),
  names: z.record(z.string().regex(/^[a-z]+$/, 'is no name'), z.number()).optional(),
})

test.each<[unknown, string]>([
  [{ number: 'abc' }, 'x: number: must be a number; it is the text "abc"'],
  [{ number: '' }, 'number: must be a number; it is empty'],
  [{ number: 'a'.repeat(50) }, `number: must be a number; it is the text "${'a'.repeat(40)}…"`],
  [{ number: null }, 'number: must be a number; it is null'],
  [{ number: Number.NaN }, 'number: must be a number; it is NaN'],
  [{ number: 0 }, 'number: must be more than 0; it is 0'],
  [{ number: 11 }, 'number: must be at most 10; it is 11'],
  [{ least: 1 }, 'least: must be at least 2; it is 1'],
  [{ whole: 1.5 }, 'whole: must be a whole number; it is 1.5'],
  [{ whole: [] }, 'whole: must be a number; it is an array'],
  [{ timeoutMs: '30s' }, 'timeoutMs: must be a number of milliseconds; it is the text "30s"'],
  [{ flag: 'yes' }, 'flag: must be true or false; it is the text "yes"'],
  [
    { word: 'viever' },
    'word: must be "viewer", "operator" or "admin" (did you mean "viewer"?); it is the text "viever"',
  ],
  [{ off: false }, 'off: must be "off"; it is false'],
  [{ text: '' }, 'text: must not be empty'],
  [{ text: 'abcdef' }, 'text: must have at most 5 characters; it has 6'],
  [{ text: 7 }, 'text: must be a text; it is 7'],
  [{ text: {} }, 'text: must be a text; it is an object'],
  [{ list: [] }, 'list: must not be empty'],
  [{ list: ['a', 'b', 'c'] }, 'list: must have at most 2 entries; it has 3'],
  [{ list: ['a', 1] }, 'list.1: must be a text; it is 1'],
  [{ list: 'a' }, 'list: must be an array; it is another text'],
  [{ deep: {} }, 'deep.inner: is missing; it must be a text'],
  [{ deep: 'x' }, 'deep: must be an object; it is another text'],
  [{ url: 'x' }, 'url: must be a URL; it is another text'],
  [{ own: 5 }, 'own: must be a name of your own'],
  [{ time: 'soon' }, 'time: must be a time such as 2026-01-31T12:00:00Z; it is another text'],
  [{ either: { a: 'x' } }, 'either.a: must be a number; it is the text "x"'],
  [{ either: 5 }, 'either: must have one of the allowed forms; it is 5'],
  [{ names: { A: 1 } }, 'names.A: is no name'],
  [{ nubmer: 1 }, 'x: unknown "nubmer" (did you mean "number"?); allowed: number, least'],
  [[], 'x: must be an object; it is an array'],
  ['secret', 'x: must be an object; it is another text'],
])('%j is refused in plain words', (value, says) => {
  expect(() => check(schema, value, 'x')).toThrow(
    `CONFIG_INVALID: ${says.startsWith('x: ') ? says : `x: ${says}`}`,
  )
})

test('no message of the validator keeps its own words', () => {
  for (const value of [{ number: 'a', whole: 'b', code: 'x', deep: [], either: [], names: 3, url: 7 }, 5])
    expect(() => check(schema, value, 'x')).not.toThrow(/Invalid|expected|received|Too (big|small)/)
})

test('an absent value with a description is reported as missing', () => {
  const own = strict({ url: z.string({ error: 'must be an http or https URL' }) })
  expect(() => check(own, {}, 'x')).toThrow('x: url: is missing; it must be an http or https URL')
  expect(() => check(own, { url: 5 }, 'x')).toThrow('x: url: must be an http or https URL')
})
