import type { z } from 'zod'
import { didYouMean } from './closest.ts'

/*
 * Translates the validator's issues into plain English: the allowed values, and the given value. A
 * schema's own messages are kept. Texts are quoted only if a word or a number was expected, because
 * any other text may be a secret.
 */

/** The options of `safeParse(value, PLAIN)`. */
export const PLAIN = { error: plainIssue, reportInput: true } as const

type RawIssue = z.core.$ZodRawIssue

function plainIssue(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return must(`be ${nounOf(issue.expected)}${unitOf(issue)}`, issue.input, isQuoted(issue.expected))
    case 'invalid_value':
      return must(`be ${listed(issue.values.map(shown))}${meant(issue)}`, issue.input, true)
    case 'too_small':
      return tooSmall(issue)
    case 'too_big':
      return tooBig(issue)
    case 'invalid_format':
      return must(`be ${FORMATS[issue.format] ?? 'a text of another form'}`, issue.input, false)
    case 'not_multiple_of':
      return must(`be a multiple of ${issue.divisor}`, issue.input, true)
    case 'unrecognized_keys':
      return unknownKeys(issue.keys, allowedKeys(issue))
    case 'invalid_union':
      return must('have one of the allowed forms', issue.input, false)
    default:
      return undefined
  }
}

/** `must be a number; it is the text "abc"`, or `is missing; it must be a number`. */
function must(be: string, input: unknown, quotes: boolean): string {
  return input === undefined ? `is missing; it must ${be}` : `must ${be}; it is ${found(input, quotes)}`
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  tuple: 'an array',
  date: 'a Date',
  null: 'null',
  undefined: 'left out',
  never: 'left out',
}

function nounOf(expected: string): string {
  return NOUNS[expected] ?? `a ${expected}`
}

const UNITS: Readonly<Record<string, string>> = {
  Ms: 'milliseconds',
  Seconds: 'seconds',
  Minutes: 'minutes',
  Hours: 'hours',
  Days: 'days',
  Bytes: 'bytes',
}

/** ` of milliseconds`, for a number whose name contains its unit: `timeoutMs`. */
function unitOf({
  expected,
  path,
}: {
  readonly expected: string
  readonly path?: readonly PropertyKey[] | undefined
}): string {
  const [, unit = ''] = /[a-z](Ms|Seconds|Minutes|Hours|Days|Bytes)$/.exec(String(path?.at(-1))) ?? []
  return expected === 'number' && UNITS[unit] !== undefined ? ` of ${UNITS[unit]}` : ''
}

/** A text in place of a number or a boolean is not a secret. */
function isQuoted(expected: string): boolean {
  return ['number', 'int', 'boolean'].includes(expected)
}

const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'a mail address',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  uuid: 'a UUID',
}

const MAX_QUOTE = 40

function found(input: unknown, quotes: boolean): string {
  if (typeof input === 'string') {
    if (input === '') return 'empty'
    return quotes ? `the text "${cut(input)}"` : 'another text'
  }
  if (Array.isArray(input)) return 'an array'
  if (input === null || ['number', 'boolean', 'bigint'].includes(typeof input)) return String(input)
  if (typeof input === 'function') return 'a function'
  return typeof input === 'object' ? 'an object' : `a ${typeof input}`
}

function cut(text: string): string {
  return text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}…` : text
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value)
}

/** `"a", "b" or "c"`. */
function listed(values: readonly string[]): string {
  const last = values.at(-1) ?? ''
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} or ${last}`
}

function meant({ input, values }: { input?: unknown; values: readonly unknown[] }): string {
  return typeof input === 'string'
    ? didYouMean(
        input,
        values.filter((one) => typeof one === 'string'),
      )
    : ''
}

interface Bound {
  readonly origin: string
  readonly inclusive?: boolean | undefined
  readonly input?: unknown
}

function tooSmall(issue: Bound & { readonly minimum: number | bigint }): string {
  const { minimum, inclusive = true } = issue
  if (!isCounted(issue))
    return must(`be ${inclusive ? 'at least' : 'more than'} ${minimum}`, issue.input, true)
  return Number(minimum) === 1 ? 'must not be empty' : counted(issue, `at least ${minimum}`)
}

function tooBig(issue: Bound & { readonly maximum: number | bigint }): string {
  const { maximum, inclusive = true } = issue
  if (!isCounted(issue))
    return must(`be ${inclusive ? 'at most' : 'less than'} ${maximum}`, issue.input, true)
  return counted(issue, `at most ${maximum}`)
}

/** Whether the limit is on the size, not on the value. */
function isCounted({ origin }: Bound): boolean {
  return !['number', 'int', 'bigint', 'date'].includes(origin)
}

function counted({ origin, input }: Bound, limit: string): string {
  const unit = origin === 'string' ? 'characters' : 'entries'
  const size = typeof input === 'string' || Array.isArray(input) ? `; it has ${input.length}` : ''
  return `must have ${limit} ${unit}${size}`
}

function allowedKeys({ inst }: RawIssue): string[] {
  const def: object = inst?._zod.def ?? {}
  return 'shape' in def && typeof def.shape === 'object' ? Object.keys(def.shape ?? {}) : []
}

export function unknownKeys(keys: readonly string[], allowed: readonly string[]): string {
  const unknown = keys.map((key) => `"${key}"${didYouMean(key, allowed)}`)
  return `unknown ${unknown.join(', ')}; allowed: ${allowed.join(', ') || 'none'}`
}
