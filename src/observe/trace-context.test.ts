import { expect, test } from 'vitest'
import { traceContext, wellFormedTraceparent } from './trace-context.ts'

const GOOD = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

test.each([
  ['of another version', GOOD.replace('00-', 'cc-'), true],
  ['of the forbidden version', GOOD.replace('00-', 'ff-'), false],
  ['with a trace id of zeros', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  ['with a span id of zeros', `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`, false],
  ['in capitals', GOOD.toUpperCase(), false],
  ['with a line break', `${GOOD}\n`, false],
  ['that is no text', 7, false],
])('a traceparent %s', (_what, value, isGood) => {
  expect(wellFormedTraceparent(value) !== undefined).toBe(isGood)
})

test('a tracestate is passed on only with a traceparent, and only if it is small and printable', () => {
  expect(traceContext(GOOD, 'a=1')).toEqual({ traceparent: GOOD, tracestate: 'a=1' })
  expect(traceContext('nonsense', 'a=1')).toBeUndefined()
  for (const bad of ['x'.repeat(513), 'a=1\r\nx: y', '', undefined])
    expect(traceContext(GOOD, bad)).toEqual({ traceparent: GOOD })
})
