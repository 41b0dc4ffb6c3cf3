import type { Random } from '../chaos/random.ts'

/* Changes of texts, bytes and values that keep most of their structure. */

const NASTY_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\n',
  '\r\nx: y',
  '\ud800',
  '\ufeff',
  '\u202e',
  'İ',
  '%',
  '%00',
  '%c0%af',
  '../../../etc/passwd',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'null',
  'undefined',
  'NaN',
  'true',
  '-0',
  '-1',
  '0x10',
  '1e999',
  '9007199254740993',
  '99999999999999999999999999',
  '1970-01-01T00:00:00Z',
  '0000-00-00',
  "'; drop table hookonce.receipt; --",
  '$1',
  '#{x}',
  '{{x}}',
  '[]',
  '{}',
  '=',
  ',',
  ';',
  ':',
  '*',
  '**',
  '"',
  "'",
  '\\',
  '\x1b[31m',
  'a'.repeat(5_000),
  '9'.repeat(400),
  'é'.repeat(300),
  '=,'.repeat(2_000),
  '['.repeat(2_000),
]

export const NASTY_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 31,
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  [],
  {},
  [[]],
  [null],
  { id: null },
  { '': '' },
]

const SEPARATORS = /([=,;:. "&?/()\r\n{}[\]]+)/

export function chance(random: Random, oneIn: number): boolean {
  return random.below(oneIn) === 0
}

/** Half a surrogate pair cannot be sent: it becomes U+FFFD. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8')
}

export function nastyText(random: Random): string {
  if (!chance(random, 3)) return random.pick(NASTY_TEXTS)
  return Array.from({ length: random.below(40) }, () =>
    String.fromCharCode(random.below(chance(random, 4) ? 65_536 : 128)),
  ).join('')
}

/** The text with one part changed. Separators divide the parts. */
export function mutatedText(random: Random, text: string): string {
  const parts = text.split(SEPARATORS)
  const at = random.below(parts.length)
  const part = parts[at] ?? ''
  const other = parts[random.below(parts.length)] ?? ''
  const changed = random.pick([
    () => nastyText(random),
    () => '',
    () => part + part,
    () => other,
    () => part.toUpperCase(),
    () => part.toLowerCase(),
    () => ` ${part}\t`,
    () => part.slice(0, random.below(part.length + 1)),
    () => [...part].reverse().join(''),
    () => encodeURIComponent(wellFormed(part)),
    () => `"${part}"`,
    () => Buffer.from(part).toString(random.pick(['hex', 'base64', 'base64url'] as const)),
  ])()
  return parts.with(at, changed).join('')
}

export function mutatedBytes(random: Random, bytes: Uint8Array): Buffer {
  const given = Buffer.from(bytes)
  const at = random.below(given.length + 1)
  const to = Math.min(given.length, at + random.below(64))
  const part = given.subarray(at, to)
  const changed = random.pick([
    () => Buffer.concat([given.subarray(0, at), Buffer.from([random.below(256)]), given.subarray(at + 1)]),
    () => Buffer.concat([given.subarray(0, at), Buffer.from([random.below(256)]), given.subarray(at)]),
    () => Buffer.concat([given.subarray(0, at), given.subarray(to)]),
    () => Buffer.concat([given.subarray(0, to), part, given.subarray(to)]),
    () => given.subarray(0, at),
    () => Buffer.concat([Buffer.from('\ufeff'), given]),
    () => Buffer.concat([given, Buffer.from(random.pick(['\n', ' ', '\0', '}', '{}']))]),
    () => Buffer.from(given.toString('latin1'), 'utf16le'),
    () => Buffer.from(given.toString('latin1'), 'utf8'),
    () => Buffer.from(nastyText(random)),
  ])
  return changed()
}

/** Deeper values are not changed: the limit of nesting has its own cases. */
const MAX_DEPTH = 12

/** A JSON value with one change at a random place. */
export function mutatedValue(random: Random, value: unknown, depth = 0): unknown {
  const isLeaf = typeof value !== 'object' || value === null || depth > MAX_DEPTH || chance(random, 5)
  if (isLeaf) return nastyValue(random, value)
  const entries: [string, unknown][] = Object.entries(value)
  const at = random.below(entries.length + 1)
  const [name, inner] = entries[at] ?? ['', undefined]
  const changed = random.pick<() => [string, unknown][]>([
    () => (at < entries.length ? entries.with(at, [name, mutatedValue(random, inner, depth + 1)]) : entries),
    () => (at < entries.length ? entries.with(at, [name, mutatedValue(random, inner, depth + 1)]) : entries),
    () => (at < entries.length ? entries.toSpliced(at, 1) : entries),
    () => entries.toSpliced(at, 0, [nastyText(random), nastyValue(random, inner)]),
    () => (at < entries.length ? entries.with(at, [mutatedText(random, name), inner]) : entries),
    () => entries.toReversed(),
  ])()
  return Array.isArray(value) ? changed.map(([, one]) => one) : Object.fromEntries(changed)
}

function nastyValue(random: Random, value: unknown): unknown {
  return random.pick<() => unknown>([
    () => random.pick(NASTY_VALUES),
    () => nastyText(random),
    () => (typeof value === 'string' ? mutatedText(random, value) : String(value)),
    () => [value, value],
    () => ({ value }),
    () => nested(random.below(200), value),
    () => (typeof value === 'string' ? Number(value) : random.below(1_000) - 500),
  ])()
}

function nested(levels: number, value: unknown): unknown {
  let made = value
  for (let level = 0; level < levels; level += 1) made = level % 2 === 0 ? [made] : { a: made }
  return made
}
