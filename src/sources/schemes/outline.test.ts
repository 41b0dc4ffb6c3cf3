import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { outlineOf } from './outline.ts'

const PATHS = [
  ['id'],
  ['type'],
  ['data', 'object', 'id'],
  ['data', '0', 'id'],
  ['created'],
  ['__proto__', 'id'],
  ['é'],
]
const outline = outlineOf(PATHS)

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    return undefined
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

/** The outline and JSON.parse agree: on whether the text is JSON, and on the value at each path. */
function expectAgreement(body: Uint8Array): void {
  const whole = parsed(body)
  const found = outline(body)
  const isContainer = typeof whole === 'object' && whole !== null
  expect(found !== undefined, Buffer.from(body).toString('latin1')).toBe(isContainer)
  if (isContainer) for (const path of PATHS) expect(at(found, path)).toEqual(at(whole, path))
}

const name = fc.oneof(
  fc.constantFrom('id', 'type', 'data', 'object', 'created', '__proto__', 'é', 'a"b', 'length'),
  fc.string(),
)
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('null', 'true', 'false', '0', '-0', '1e400', '12.50e-3', '9007199254740993'),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
    fc
      .array(fc.tuple(name, tie('value'), fc.boolean()), { maxLength: 6 })
      .map(
        (fields) =>
          `{${fields.map(([key, value, escaped]) => `${spelt(key, escaped)} :\n${value}`).join(',\t')}}`,
      ),
  ),
}))

function spelt(key: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(key)
  const units = Array.from({ length: key.length }, (_, i) => key.charCodeAt(i).toString(16).padStart(4, '0'))
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`
}

describe('the outline of a body', () => {
  it('agrees with JSON.parse at every path', () => {
    fc.assert(
      fc.property(json, (text) => expectAgreement(Buffer.from(String(text)))),
      { numRuns: 2_000 },
    )
  })

  it('agrees on bodies with a byte changed, left out or cut off', () => {
    const damage = fc.tuple(json, fc.nat(), fc.nat(255), fc.constantFrom('change', 'drop', 'cut'))
    fc.assert(
      fc.property(damage, ([text, position, byte, how]) => {
        const body = Buffer.from(String(text))
        const place = position % Math.max(1, body.length)
        if (how === 'change') body[place] = byte
        expectAgreement(
          how === 'drop'
            ? Buffer.concat([body.subarray(0, place), body.subarray(place + 1)])
            : how === 'cut'
              ? body.subarray(0, place)
              : body,
        )
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    '{"id":01}',
    '{"id":-}',
    '{"id":1.}',
    '{"id":.5}',
    '{"id":1e}',
    '{"id":+1}',
    '{"id":-01}',
    '{"id":1-1}',
    '{"id":tru}',
    '{"id":truex}',
    '{"id":nul',
    '{"id":"\\x"}',
    '{"id":"\\u12g4"}',
    '{"id":"a\nb"}',
    '{"id":"a',
    '{"id":1,}',
    '{,}',
    '[,]',
    '[1,]',
    '[1 2]',
    '{"id" 1}',
    '{id:1}',
    '{"a":[}]}',
    '{}{}',
    '{} x',
    '',
    ' ',
    '{',
    '[',
    '{"id":1}\u0000',
    '\u00a0{}',
    '{"id":"a","id":"b"}',
    '{"data":{"object":{"id":1}},"data":{}}',
    '{"data":{"object":{"id":1}},"data":5}',
    '{"\\u0069d":7}',
    '{"data":[{"id":3}]}',
    ' [ ] ',
    '{"id":{"a":[1]}}',
  ])('agrees on %j', (text) => expectAgreement(Buffer.from(text)))

  it('accepts a view into a larger buffer', () => {
    const buffer = Buffer.from('xx{"id":"a"}yy')
    expect(outline(buffer.subarray(2, -2))).toEqual({ id: 'a' })
  })

  it('skips values of any depth', () => {
    const depth = 1_000_000
    expect(outline(Buffer.from(`{"x":${'['.repeat(depth)}${']'.repeat(depth)},"id":1}`))).toEqual({ id: 1 })
    expect(outline(Buffer.from(`{"x":${'['.repeat(depth)}${']'.repeat(depth - 1)},"id":1}`))).toBeUndefined()
  })
})
