import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Logger, logs } from './logs.ts'
import type { AttemptFact, DeliveryFact } from './observer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Line = readonly [level: keyof Logger, fields: Record<string, unknown>, message: string]

function capture(): { lines: Line[]; logger: Logger } {
  const lines: Line[] = []
  const at = (level: keyof Logger) => (fields: Record<string, unknown>, message: string) =>
    void lines.push([level, fields, message])
  return { lines, logger: { info: at('info'), warn: at('warn'), error: at('error') } }
}

const refusal: DeliveryFact = {
  source: 'test',
  outcome: 'rejected',
  status: 401,
  code: 'SIGNATURE_MISMATCH',
  durationMs: 1,
}
const attempt: AttemptFact = {
  source: 'test',
  subscriber: 'app',
  receiptId: '00000000-0000-0000-0000-000000000001',
  eventKey: 'evt_1',
  attempt: 2,
  outcome: 'failed',
  durationMs: 20,
  error: new Error('closed'),
}

test('a flood of refusals is one line for each source and reason in ten seconds, with a count of the rest', () => {
  const { lines, logger } = capture()
  const { delivery } = logs(logger)
  for (let n = 0; n < 1_000; n += 1) delivery(refusal)
  delivery({ ...refusal, code: 'TIMESTAMP_TOO_OLD' })
  expect(lines.map(([, fields]) => fields.code)).toEqual(['SIGNATURE_MISMATCH', 'TIMESTAMP_TOO_OLD'])
  vi.advanceTimersByTime(10_001)
  delivery(refusal)
  expect(lines[2]?.[1]).toMatchObject({ code: 'SIGNATURE_MISMATCH', not_logged_before: 999 })
})

test.each([
  ['processed', 'info'],
  ['returned', 'info'],
  ['retrying', 'warn'],
  ['lost', 'warn'],
  ['failed', 'error'],
] as const)('an attempt that is %s is told at level %s, in the words of the glossary', (outcome, level) => {
  const { lines, logger } = capture()
  logs(logger).attempt({ ...attempt, outcome })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.[0]).toBe(level)
  expect(lines[0]?.[1]).toMatchObject({
    receipt_id: attempt.receiptId,
    event_key: 'evt_1',
    job: 'app',
    attempt: 2,
    status: outcome,
  })
})

test('a delivery that was recorded without being understood is a warning beside its line, as seldom as a refusal', () => {
  const { lines, logger } = capture()
  const { delivery } = logs(logger)
  const unread: DeliveryFact = { ...refusal, outcome: 'recorded', status: 202, code: 'EVENT_KEY_MISSING' }
  for (let n = 0; n < 3; n += 1) delivery(unread)
  expect(lines.map(([level, , message]) => [level, message])).toEqual([
    ['warn', 'delivery recorded, though it lacks what this provider documents'],
    ['info', 'recorded'],
    ['info', 'recorded'],
    ['info', 'recorded'],
  ])
})

test('an error that has no text is told all the same', () => {
  const { lines, logger } = capture()
  logs(logger).attempt({ ...attempt, error: Object.create(null) })
  logs(logger).trouble({ doing: 'settling 1 jobs', error: Object.create(null) })
  expect(lines.map(([, fields]) => fields.error)).toEqual([
    'thrown: something that has no text',
    'thrown: something that has no text',
  ])
})
